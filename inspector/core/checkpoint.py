"""Where a long computation can be stopped, or rest while something more urgent is done.

Loops over a whole session call `checkpoint()`. On the command line that does nothing. Whoever runs the computation on a
thread of its own says by `with_checkpoints` what happens there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_at_checkpoint: ContextVar[Callable[[], None] | None] = ContextVar("at_checkpoint", default=None)


def checkpoint() -> None:
    """Raise whatever the runner of this computation raises to stop it. Cheap: call it in inner loops."""
    call = _at_checkpoint.get()
    if call is not None:
        call()


@contextmanager
def with_checkpoints(call: Callable[[], None]) -> Iterator[None]:
    """Have `call` called at every checkpoint of what is computed inside, on this thread."""
    token = _at_checkpoint.set(call)
    try:
        yield
    finally:
        _at_checkpoint.reset(token)
