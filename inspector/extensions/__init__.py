"""Extensions by users: formats, policies, the windows of their models. A user's code runs only if the user asks."""
