"""Figures of a policy on a recorded session. Each replay is run once for all assertions of a test run."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from inspector.api import PolicyRunner, offline, open_session, policy
from inspector.core.facts.wording import join_lines
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.turn import AllDone
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import describe_fate
from inspector.core.replay.report import replay_report
from inspector.core.session import Session
from inspector.core.tokens.windows import find_window
from inspector.core.validity import find_refusals
from inspector.extensions.windows import user_windows

Sessions: TypeAlias = Session | str | Path | Iterable[Session | str | Path]
PolicyLike: TypeAlias = PolicyRunner | str | Path


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """The figures of one policy on one session."""

    session: str
    policy: str
    requests: int
    window: int | None
    peak: int
    """Tokens of the largest buffer that was sent."""
    too_large: int
    """Requests that exceed the window even after the policy acted."""
    cost_usd: float | None
    """The cost of the session with this policy, in US dollars; None if a price is unknown."""
    compactions: int
    needed_again: int
    """Facts that the policy removed and the session needed later."""
    pins: Mapping[str, str]
    """The fate of each pin, by its text; empty if it was kept throughout."""
    refusals: tuple[str, ...]
    """Why a provider would refuse a buffer that the policy made."""

    @property
    def pressure(self) -> float | None:
        """The largest buffer as a share of the window; None if that is unknown."""
        return self.peak / self.window if self.window else None

    @property
    def key(self) -> str:
        """Return the key of the figures in a baseline."""
        return f"{self.session} | {self.policy}"

    def as_json(self) -> dict[str, Any]:
        """Return the figures that a report shows and a baseline keeps."""
        values = asdict(self)
        return {name: values[name] for name in ("session", "policy", "window", *NUMBERS)}


NUMBERS = ("requests", "peak", "too_large", "compactions", "needed_again", "cost_usd")
"""Fields that are compared with a baseline."""


class _WatchedPolicy:
    """Wraps a policy, and collects why providers would refuse the buffers that it makes."""

    def __init__(self, inner: Policy[Any, Any]) -> None:
        self._inner = inner
        self.refusals: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def before_call(self, context: Any) -> AllDone[Any]:
        done = yield from self._inner.before_call(context)
        self._look_at(context, done)
        return done

    def after_turn(self, context: Any) -> AllDone[Any]:
        done = yield from self._inner.after_turn(context)
        self._look_at(context, done)
        return done

    def _look_at(self, context: Any, done: tuple[Outcome[Any], ...]) -> None:
        if not done or done[-1].buffer.messages == context.buffer.messages:
            return
        refusals = find_refusals(done[-1].buffer)
        before = (
            {(refusal.rule, refusal.message) for refusal in find_refusals(context.buffer)}
            if refusals
            else set()
        )
        for refusal in refusals:
            if (refusal.rule, refusal.message) not in before:
                self.refusals[f"{refusal.rule}: {refusal.why}"] = None


class Replays:
    """Replays policies on sessions, each pair once in a test run."""

    def __init__(self) -> None:
        self.asked: dict[str, SessionFigures] = {}
        """Figures that assertions used since the last `take_asked`, by their key."""
        self._sessions: dict[Path, Session] = {}
        self._known: dict[tuple[int, str], tuple[frozenset[str], SessionFigures]] = {}
        """Pins and figures, by the identity of the session and the policy's label."""
        self._grounds: dict[tuple[int, int | None, frozenset[str]], Ground] = {}
        self._named: dict[int, tuple[str, Session]] = {}
        """(name, session) by `id()` of the session. Holding the session keeps its `id()` from being used again."""

    def take_asked(self) -> list[SessionFigures]:
        """Return the figures that were used since the last call, and clear the list."""
        figures = list(self.asked.values())
        self.asked.clear()
        return figures

    def open(self, path: str | Path, name: str = "") -> Session:
        """Open a session, or return it if it was opened before. Raises InspectorError.

        Args:
            name: the session's name in reports; empty = the name of the file.
        """
        place = Path(path)
        if place not in self._sessions:
            self._sessions[place] = session = open_session(place)
            self._named[id(session)] = (name or place.name, session)
        return self._sessions[place]

    def replay_each(
        self, runner: PolicyLike, sessions: Sessions, pins: Iterable[str] = ()
    ) -> list[SessionFigures]:
        """Replay a policy over sessions and return the figures. A replay that was already run with these pins is
        reused."""
        chosen = runner if isinstance(runner, PolicyRunner) else policy(runner)
        listed = [sessions] if isinstance(sessions, Session | str | Path) else list(sessions)
        opened = [
            session if isinstance(session, Session) else self.open(session) for session in listed
        ]
        pin_texts = frozenset(map(join_lines, pins))
        figures = [self._replay(chosen, session, pin_texts) for session in opened]
        self.asked.update((row.key, row) for row in figures)
        return figures

    def _replay(
        self, runner: PolicyRunner, session: Session, pin_texts: frozenset[str]
    ) -> SessionFigures:
        key = (id(session), _label(runner))
        pins, figures = self._known.get(key, (None, None))
        if pins is not None and figures is not None and pin_texts <= pins:
            return figures
        name, _ = self._named.setdefault(id(session), (f"session {len(self._named) + 1}", session))
        pins = pin_texts | (pins or frozenset())
        figures = _measure(runner, self._find_ground(runner, session, pins), session.client, name)
        self._known[key] = (pins, figures)
        return figures

    def _find_ground(self, runner: PolicyRunner, session: Session, pins: frozenset[str]) -> Ground:
        """Return the data of a session that all policies share, computed once for each window and set of pins."""
        window = find_window(session, session.main, None, runner.window, user_windows()).tokens
        key = (id(session), window, pins)
        if key not in self._grounds:
            self._grounds[key] = Ground(
                session.main, window, pins=sorted(pins), calls=session.side_calls
            )
        return self._grounds[key]


def _label(runner: PolicyRunner) -> str:
    """Return the policy with its window and settings, as reports show it.

    A policy file is named by its path from the current folder on, so that a baseline also holds in another checkout.
    """
    settings = [f"{key}={value}" for key, value in runner.settings]
    window = [f"window={runner.window}"] if runner.window is not None else []
    name, here = Path(runner.policy.reference), Path.cwd()
    if name.is_absolute() and name.is_relative_to(here):
        name = name.relative_to(here)
    return " ".join([str(name), *window, *settings])


def _measure(runner: PolicyRunner, ground: Ground, client: str, name: str) -> SessionFigures:
    watched: Any = _WatchedPolicy(runner.policy)
    settings = runner.policy.settings(
        (*runner.policy.of_client(client), *runner.settings), ground.window
    )
    replayed = replay_report(ground, policy=watched, settings=settings, answer=offline)
    cost = replayed.spent.cost_usd
    pins = {
        history.pin.text: "" if history.kept else describe_fate(history)
        for history in replayed.pins
        if history.spans
    }
    cost_usd = None if cost is None else float(round(cost, 6))
    compactions, needed_again = len(replayed.compactions), len(replayed.losses.regrets)
    return SessionFigures(
        session=name,
        policy=_label(runner),
        requests=len(replayed.rows),
        window=replayed.window,
        peak=replayed.peak,
        too_large=replayed.over,
        cost_usd=cost_usd,
        compactions=compactions,
        needed_again=needed_again,
        pins=pins,
        refusals=tuple(watched.refusals),
    )
