"""The timeline of a thread's requests, and the pressure gauge."""
