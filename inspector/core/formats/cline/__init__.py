"""Cline and Roo Code: tasks (the log shown to the user, and the history sent), and sessions of Cline since 4.0."""

from inspector.core.formats.cline import session, task

FORMATS = (task.FORMAT, session.FORMAT)
