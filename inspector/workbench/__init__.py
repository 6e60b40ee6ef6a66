"""The State, which the window shows, and the intents that change it; steps, previews, comparisons. No Qt."""
