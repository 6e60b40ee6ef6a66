"""One model call of a run: streamed, cancelled at once, made again where its failure passes."""

from collections.abc import Callable

from inspector.agent.controls import Stopped
from inspector.agent.plan import Limits
from inspector.agent.run import Run
from inspector.core.buffer import Buffer
from inspector.core.errors import Cancelled
from inspector.core.needs import Answer, AskModel, ContextWindowExceeded, Failure, Need, ProviderFailure, Timeout

_PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 529)


def waits(failure: Failure, tries: int, limits: Limits, timeouts: bool = True) -> float | None:
    """Seconds after which the call is worth another try; None where it is not. `tries` = those made so far.

    `timeouts`: is one that took too long? Not a tier's: its harness has said how long it waits.
    """
    passing = timeouts and isinstance(failure, Timeout)
    if isinstance(failure, ProviderFailure):
        passing = failure.status in _PASSING or failure.kind in ("connection", "broken", "empty")
    if not passing or tries > limits.retries:
        return None
    wanted: float | None = getattr(failure, "retry_after_s", None)
    seconds = limits.backoff_s * 2 ** (tries - 1) if wanted is None else wanted
    return seconds if seconds <= limits.longest_wait_s else None


def told(failure: Failure) -> str:
    """Its sentence."""
    return str(failure) or type(failure).__name__


def patiently(run: Run, thread: str, call: Callable[[], Answer], write: Callable[[], None] | None) -> Answer:
    """The answer, after as many tries as are worth it. `write` puts each try into the journal; None = a tier's need.

    Raises Failure (the last one), or Stopped.
    """
    tries = 0
    while True:
        run.controls.check()
        if write is not None:
            write()
        tries += 1
        try:
            return _stoppable(call)
        except Failure as failure:
            again = None
            if not isinstance(failure, ContextWindowExceeded):
                again = waits(failure, tries, run.plan.limits, timeouts=write is not None)
            if write is not None:
                run.journal.failed(thread, failure, again)
            if again is None:
                raise
            run.voice.say(why=f"{told(failure)}; asking again in {again:g} s ({tries} of {run.plan.limits.retries})")
            run.controls.rest(again)


def _stoppable(call: Callable[[], Answer]) -> Answer:
    try:
        return call()
    except Cancelled:
        raise Stopped from None


def ask(run: Run, thread: str, need: AskModel, buffer: Buffer, write: Callable[[], None]) -> Answer:
    """The agent's own call, with `buffer` as it stands now. Raises Failure, Stopped."""
    model = run.models.of(thread, buffer.prompt)
    wanted = AskModel(buffer, need.max_tokens, need.stream)

    def call() -> Answer:
        run.voice.say(state="calling", why="")
        try:
            return model(wanted, run.voice.listen(), run.controls.is_stopped)
        finally:
            run.voice.hush()

    return patiently(run, thread, call, write)


def meet(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    """A tier's need that takes a model, by the run's provider. Raises Failure, Stopped."""
    model = run.models.of(thread, buffer.prompt)
    return patiently(run, thread, lambda: model(need, None, run.controls.is_stopped), None)
