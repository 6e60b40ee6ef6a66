"""One folder a panel, or a family of them: each shows the State and sends intents."""
