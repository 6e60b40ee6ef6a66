"""Real models through the providers' own SDKs, which are imported when the first call is made (up to 1.2 s each)."""
