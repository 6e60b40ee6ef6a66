"""Keys and their redaction in texts, servers that only this machine can reach, and protection against the commands that
the program runs.
"""
