"""The library: open sessions, measure a buffer, run compaction tiers on it, and ask what a compaction lost and cost.

Everything here is public and follows semantic versioning: names are added in minor versions, and removed or changed in
major versions only. Import it from the package: `from inspector import open_session, policy`. Nothing here needs a
display, a network or a key. Expected failures raise `InspectorError` with one sentence that says what to do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from inspector.core.answering import AnsweredNeed, Answerer, AnswerLog, offline
from inspector.core.buffer import Buffer, Stretch
from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Dialect
from inspector.core.errors import InspectorError
from inspector.core.findings.breakdown import Breakdown, tool_calls
from inspector.core.findings.breakdown import break_down as _break_down
from inspector.core.findings.lost import CompactionLoss, recorded_losses
from inspector.core.findings.spending import SessionCost, session_cost
from inspector.core.message import Message
from inspector.core.needs import Answer, Need, drive
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.place import PolicyChoice, context_at
from inspector.core.policies.verdict import PolicyInput, Verdict
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import Pin
from inspector.core.replay.pins import collect_pins as _find_pins
from inspector.core.replay.report import ReplayReport, replay_report
from inspector.core.session import Session, Thread
from inspector.core.tokens.catalogue import catalogue_window
from inspector.core.tokens.pressure import Pressure, known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.tokens.windows import Window, find_window
from inspector.core.usage import Usage
from inspector.extensions.function_policy import Ask, Compaction, FunctionPolicy, Items
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.resources import resource
from inspector.transcripts.files import open_transcript

__all__ = [
    "Answer",
    "Ask",
    "Buffer",
    "CompactionResult",
    "InspectorError",
    "Items",
    "Message",
    "Need",
    "PolicyRunner",
    "Pressure",
    "Session",
    "Shape",
    "Thread",
    "Verdict",
    "breakdown",
    "bundled_sample",
    "cost",
    "find_lost",
    "find_pins",
    "measure",
    "offline",
    "open_session",
    "policy",
    "policy_from",
    "read_request",
    "replay",
    "write_request",
]

Shape: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]
"""The provider API in whose format a request body is written."""
_MODEL, _MAX_TOKENS = "model", 4_096
"""The model and the limit that a written body names by default."""


# -- sessions ----------------------------------------------------------------------------------------------------------


def open_session(path: str | Path, *, session: str = "", format: str | None = None) -> Session:  # noqa: A002
    """Open a transcript of any supported format. The file is only read.

    Args:
        path: a file or a folder, also packed (gzip, zstd).
        session: id of the session in a file that holds several; empty = the first.
        format: name of the format, which overrules detection.

    Returns:
        The session. `session.main` is the main thread; `session.problems` lists lines that could not be read.

    Raises:
        InspectorError: the file cannot be read, or its format is not supported. The sentence says why.
    """
    name = f"{path}#{session}" if session else path
    return open_transcript(name, format=format)


def bundled_sample() -> Path:
    """Return the path of a session that ships with the package, to try things on."""
    return resource("sample.jsonl")


def measure(
    session: Session | Buffer, at: int | None = None, *, thread: str = "main", model: str = ""
) -> Pressure:
    """Return the size of the buffer of a request, in tokens, with the kind of the number.

    Args:
        session: a session; or a buffer of your own, which is counted by the exact tokenizer.
        at: index of the request; None or an index after the last request: the buffer after the last record.
        thread: id of the thread.
        model: name of the model, for a buffer of your own, because model families count differently.

    Returns:
        `tokens` (None if unknown), `kind` ("reported" by the provider, "predicted", "counted", "estimated", "unknown"),
        and `band`, the range of a predicted number.
    """
    chosen = (
        _as_thread(session, model) if isinstance(session, Buffer) else _find_thread(session, thread)
    )
    return known_pressures(chosen).at(at)


def _as_thread(buffer: Buffer, model: str) -> Thread:
    """Return a thread without requests whose next request would send this buffer."""
    stretch = Stretch()
    for message in buffer.messages:
        stretch.append(message)
    return Thread(
        "main", model=model, messages=stretch.own, end=stretch.view(), prompt=buffer.prompt
    )


def breakdown(session: Session, at: int | None = None, *, thread: str = "main") -> Breakdown:
    """Return what fills the buffer of a request: a tree whose parts add up to `measure(session, at).tokens`."""
    chosen = _find_thread(session, thread)
    place = len(chosen.requests) if at is None else at
    size = sizer(known_pressures(chosen), place)
    return _break_down(
        size, size.pressure, chosen.place(place).buffer(), tool_calls(session, chosen)
    )


def find_lost(session: Session, *, thread: str = "main") -> tuple[CompactionLoss, ...]:
    """Return what each recorded compaction, and each silent drop, of a thread removed for good, in order."""
    return recorded_losses(session, _find_thread(session, thread)).each


def find_pins(
    session: Session, *, thread: str = "main", texts: Iterable[str] = ()
) -> tuple[Pin, ...]:
    """Return the sentences in which the user instructs or constrains the agent, and `texts`, in order."""
    return _find_pins(_find_thread(session, thread), texts)


def cost(session: Session) -> SessionCost:
    """Return the cost of a session in US dollars, its cache misses with causes, and whether compactions saved money."""
    return session_cost(session)


def _find_window(session: Session, thread: Thread, at: int, chosen: int | None) -> Window:
    place = at if at < len(thread.requests) else None
    return find_window(session, thread, place, chosen, user_windows())


def _find_thread(session: Session, thread: str) -> Thread:
    try:
        return session.main if thread == "main" else session.thread(thread)
    except KeyError:
        ids = ", ".join(listed.id for listed in session.threads[:20])
        raise InspectorError(f"There is no thread {thread!r}; this session has {ids}.") from None


# -- request bodies ----------------------------------------------------------------------------------------------------


def read_request(body: Mapping[str, Any], shape: Shape) -> Buffer:
    """Read a request body of a provider's API: its messages, system prompt and tools.

    Raises:
        InspectorError: there is no such shape, or the body has no list of messages.
    """
    dialect = _find_dialect(shape)
    if not isinstance(body, Mapping) or dialect.unwrapped(body).get(dialect.key) is None:
        raise InspectorError(f"A request body of the shape {shape} needs {dialect.key!r}.")
    units = dialect.units(dialect.conversation(body))
    messages = [message for unit in units for message in unit]
    named = (_name_message(message, place) for place, message in enumerate(messages))
    return Buffer(tuple(named), dialect.prompt(body))


def _name_message(message: Message, place: int) -> Message:
    """Return a message with an id made from its place: the messages of request bodies have none."""
    return Message(f"m{place}", message.role, message.parts, line=message.line, time=message.time)


def write_request(
    buffer: Buffer, shape: Shape, *, model: str = _MODEL, max_tokens: int = _MAX_TOKENS
) -> dict[str, Any]:
    """Write a buffer as a complete request body of a provider's API. Raises InspectorError for an unknown shape."""
    return _find_dialect(shape).write_body(buffer, model, max_tokens)


def _find_dialect(shape: str) -> Dialect:
    if shape not in DIALECTS:
        raise InspectorError(f"There is no shape {shape!r}. The shapes are {', '.join(DIALECTS)}.")
    return DIALECTS[shape]


# -- policies ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The result of running tiers on a buffer."""

    buffer: Buffer
    """The buffer afterwards; unchanged if no tier was due."""
    outcomes: tuple[Outcome[Any], ...]
    """For each tier that ran: its name, success, events, and the fate of each message."""
    asked: tuple[AnsweredNeed, ...]
    """Every model call and file that a tier asked for, with the answer."""
    state: Any
    """The policy's running state afterwards, for the next call."""

    @property
    def tiers(self) -> tuple[str, ...]:
        """Return the names of the tiers that ran, in order."""
        return tuple(outcome.tier for outcome in self.outcomes)

    @property
    def succeeded(self) -> bool:
        """Did every tier that ran succeed?"""
        return all(outcome.succeeded for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class PolicyRunner:
    """A compaction policy with its settings. Made by `policy` and `policy_from`."""

    policy: Policy[Any, Any]
    settings: tuple[tuple[str, str], ...] = ()
    window: int | None = None

    def explain(
        self, buffer: Buffer, *, state: Any = None, reported: int | None = None, model: str = ""
    ) -> tuple[Verdict, ...]:
        """Return for each tier whether it is due for a buffer, and why. Nothing changes.

        Args:
            state: running state of an earlier `CompactionResult`; None = the start of a session.
            reported: prompt tokens that the provider reported for the last request, if it reported any.
            model: name of the model, for its window.
        """
        return tuple(self.policy.due(self._put_in_context(buffer, state, reported, model)))

    def compact(
        self,
        buffer: Buffer,
        tier: str = "",
        *,
        answer: Answerer = offline,
        state: Any = None,
        reported: int | None = None,
        model: str = "",
    ) -> CompactionResult:
        """Run the tiers that are due for a buffer, in the policy's own order.

        Args:
            tier: run only this tier, whether it is due or not; empty: all due tiers.
            answer: answers the needs of tiers (`Summarize`, `RemoteCompact`, `ReadFile` ...), or raises a `Failure`.
                Default: an extractive summary, without a model.
            state, reported, model: as in `explain`.

        Raises:
            InspectorError: there is no such tier.
        """
        context = self._put_in_context(buffer, state, reported, model)
        return self._run(context, tier, answer)

    def learn(self, buffer: Buffer, reported: int, *, state: Any = None, model: str = "") -> Any:
        """Pass the provider's reported size of a buffer to the policy; return the new running state.

        Roku, for example, calibrates its estimate with it. Pass the state to the next `explain` or `compact`.

        Args:
            reported: prompt tokens that the provider reported for this buffer.
        """
        context = self._put_in_context(buffer, state, reported=None, model=model)
        raw, _ = self.policy.measure(context)
        return self.policy.learn(context.running, context.settings, raw, reported)

    def explain_at(self, session: Session, at: int, *, thread: str = "main") -> tuple[Verdict, ...]:
        """Return for each tier whether it was due before request `at` of a recorded session, and why."""
        return tuple(self.policy.due(self._find_context(session, at, thread, tier="")))

    def compact_at(
        self,
        session: Session,
        at: int,
        tier: str = "",
        *,
        thread: str = "main",
        answer: Answerer = offline,
    ) -> CompactionResult:
        """Run tiers on the buffer of request `at` of a recorded session, with what the policy had learned by then."""
        return self._run(self._find_context(session, at, thread, tier), tier, answer)

    def _put_in_context(
        self, buffer: Buffer, state: Any, reported: int | None, model: str
    ) -> PolicyContext[Any, Any]:
        window = self.window
        if window is None and model:
            window = catalogue_window(model, user_windows())
        settings = self.policy.settings(self.settings, window)
        running = self.policy.fresh(settings) if state is None else state
        usage = None if reported is None else Usage(input=reported)
        return PolicyContext(
            buffer, settings, running, moment=PolicyInput(model=model, usage=usage), window=window
        )

    def _find_context(
        self, session: Session, at: int, thread: str, tier: str
    ) -> PolicyContext[Any, Any]:
        chosen = _find_thread(session, thread)
        window = _find_window(session, chosen, at, self.window)
        return context_at(
            self.policy,
            choice=PolicyChoice(self.settings),
            thread=chosen,
            at=at,
            window=window,
            client=session.client,
            tier=tier,
        )

    def _run(
        self, context: PolicyContext[Any, Any], tier: str, answer: Answerer
    ) -> CompactionResult:
        log = AnswerLog(answer)
        outcomes: Sequence[Outcome[Any]]
        if tier:
            outcomes = (drive(self.policy.tier(tier, context), log),)
        else:
            outcomes = drive(self.policy.run_due(context), log)
        end = context.after(*outcomes)
        return CompactionResult(
            end.buffer, outcomes=tuple(outcomes), asked=tuple(log.asked), state=end.running
        )


def policy(name: str | Path, *, window: int | None = None, **settings: Any) -> PolicyRunner:
    """Return a policy by its name ("roku", "pulse", "pi", ...), an installed plug-in's name, or a Python file.

    Args:
        window: tokens of the model's window; None = by the model's name or the session.
        settings: settings of the policy, by the names that `context-inspector step --set` takes.

    Raises:
        InspectorError: there is no such policy, no such setting, or a value is outside its limits.
    """
    chosen = find_policy(str(name))
    pairs = tuple((key, _spell_value(value)) for key, value in settings.items())
    chosen.settings(pairs, window)
    return PolicyRunner(chosen, pairs, window)


def policy_from(
    compact: Compaction,
    shape: Shape = "openai-chat",
    *,
    name: str = "function",
    window: int | None = None,
) -> PolicyRunner:
    """Wrap your own compaction function, or a framework's, as a policy that can be stepped, replayed and compared.

    Args:
        compact: called before each request with the messages of its body (without system prompt and tools) and a
            function that asks for a summary of a text; it returns the messages to send instead.
        shape: the provider's format in which those messages are written.
        name: the policy's name in reports.
        window: tokens of the model's window; None = by the model's name or the session.
    """
    return PolicyRunner(FunctionPolicy(compact, shape, name), (), window)


def _spell_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def replay(
    session: Session,
    runner: PolicyRunner,
    *,
    thread: str = "main",
    answer: Answerer = offline,
    pins: Iterable[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> ReplayReport:
    """Run a policy over a whole recorded session. Report what it would have sent, its cost, and the facts it would
    have lost or needed again.

    Args:
        answer: answers the needs of tiers. Default: an extractive summary, without a model.
        pins: texts to follow in `report.pins`, in addition to the user's instructions.
        progress: called with (requests done, all requests).
    """
    chosen = _find_thread(session, thread)
    window = _find_window(session, chosen, len(chosen.requests), runner.window)
    settings = runner.policy.settings(
        (*runner.policy.of_client(session.client), *runner.settings), window.tokens
    )
    ground = Ground(chosen, window=window.tokens, pins=pins, calls=session.side_calls)
    return replay_report(ground, runner.policy, settings, answer, progress=progress)
