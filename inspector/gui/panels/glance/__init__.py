"""The panel At a glance: three short answers, each with a link to the panel with the details."""
