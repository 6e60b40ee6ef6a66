"""Compaction policies: the base class (`harness.py`), a file or folder per harness, and their list (`catalogue.py`).

Policies are pure: a policy yields its needs, such as a model call or a file (`core.needs`), and does no I/O itself.
"""
