"""What a policy is (`harness.py`), one harness a folder or file, and the list that names them (`catalogue.py`).

Values in, values out: a policy asks for what it needs (`core.needs`) and touches nothing itself.
"""
