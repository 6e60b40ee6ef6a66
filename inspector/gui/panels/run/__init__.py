"""The panel and the bar of a run of the built-in agent."""
