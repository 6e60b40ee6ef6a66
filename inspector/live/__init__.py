"""The hands: disk, network, clock, processes."""
