"""Expected failures: each is one sentence that says what to do."""


class InspectorError(Exception):
    """Something the user can act on. `str(error)` is the whole sentence; it is shown without a traceback."""


class UnknownFormat(InspectorError):
    """No format recognised the file. The sentence names the formats that are known."""


class NothingToRead(InspectorError):
    """The file is empty, a folder, unreadable, or holds nothing that can be shown."""


class Cancelled(InspectorError):
    """The user stopped the work. What was read so far is dropped."""
