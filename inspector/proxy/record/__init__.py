"""The recording of the proxy's traffic on disk: without keys, and with repeated content written only once."""
