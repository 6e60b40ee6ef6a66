"""One harness a folder or file: its settings, its verdicts, its tiers."""
