"""A policy over a whole recorded session: what it would have compacted, what that costs and what is regretted."""
