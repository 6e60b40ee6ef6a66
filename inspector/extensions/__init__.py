"""What users add: formats, policies, the windows of their models. Their code is run only where they asked for it."""
