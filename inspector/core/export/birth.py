"""What a new session needs from the outside: an id, a time, a place."""

from dataclasses import dataclass
from uuid import UUID, uuid5


@dataclass(frozen=True, slots=True)
class Birth:
    """Given by whoever writes the file: the core knows neither clock nor chance."""

    session: str
    """A fresh UUID."""
    time: str
    """ISO 8601, UTC, with milliseconds and Z."""
    cwd: str
    model: str = ""

    def name(self, n: int) -> str:
        """A UUID for the n-th record, always the same for the same session."""
        return str(uuid5(UUID(self.session), str(n)))
