"""Context Inspector: the debugger for an LLM agent's context window."""

__version__ = "0.1.0"
