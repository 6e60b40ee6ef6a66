"""Real models through the providers' own SDKs, which are imported at the first call (up to 1.2 s each)."""
