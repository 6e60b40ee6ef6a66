"""A session to take steps on: ten tool calls with long results, and a workbench that stands after them."""

from collections.abc import Sequence

from inspector.core.buffer import Stretch
from inspector.core.message import Message
from inspector.core.session import Request, Session, Thread
from inspector.workbench.workbench import Workbench
from tests.core.policies.build import assistant, result, user


def messages(calls: int = 10) -> tuple[Message, ...]:
    """A goal with facts in it, then so many calls of a tool, each with a result of its own."""
    made = [user("Mend src/reader.py and keep the interface. Never touch 文件.")]
    for n in range(calls):
        made.append(
            assistant(
                f"Looking at part {n}.", (f"c{n}", "Bash", {"command": f"cat src/part_{n}.py"})
            )
        )
        said = f"src/part_{n}.py\nValueError: bad part {n} of <b>it</b>\nhttps://example.org/{n}\n"
        made.append(result(f"c{n}", said + f"line {n}\n" * 200))
    return tuple(made)


def session(
    path: str = "stepped.jsonl", listed: Sequence[Message] | None = None, written_as: str = "test"
) -> Session:
    """Two requests: half of the messages, and all of them."""
    all_of_them = messages() if listed is None else tuple(listed)
    stretch = Stretch(own=all_of_them)
    views = (stretch.view(1 + len(all_of_them) // 2), stretch.view())
    requests = tuple(Request(n, view, model="claude-opus-4-5") for n, view in enumerate(views))
    thread = Thread("main", "", "claude-opus-4-5", requests, stretch.own, stretch.view())
    return Session(written_as, (thread,), path=path)


def open_it(workbench: Workbench, window: int = 3_000, written_as: str = "test") -> None:
    """The session on the workbench, with a window so small that much is due."""
    workbench.open(session(written_as=written_as))
    workbench.stepping.choose(settings=(("context_window_tokens", str(window)),))
