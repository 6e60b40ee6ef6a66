"""The connections between a client and its provider: all bytes are passed on unchanged unless the gate intervenes."""
