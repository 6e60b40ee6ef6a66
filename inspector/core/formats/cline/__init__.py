"""Cline and Roo Code: tasks (the log that the user sees, and the history), and the sessions of Cline since 4.0."""

from inspector.core.formats.cline import session, task

FORMATS = (task.FORMAT, session.FORMAT)
