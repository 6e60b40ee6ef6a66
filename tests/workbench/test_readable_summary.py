"""An offline summary beside what only the provider can read."""

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Opaque
from inspector.core.needs import Answer
from inspector.core.offline import LABEL
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.workbench.message_rows import readable_summary
from inspector.workbench.workbench import Workbench
from tests.core.policies.build import conv, user

SEALED = Message(
    "sealed", "assistant", (Opaque("compaction", {"encrypted_content": "xx"}, 2),), summary=True
)


def test_of_a_recorded_compaction() -> None:
    old = Stretch(None, conv(3).messages)
    new = Stretch(None, [SEALED, old.own[-1], user("next")])
    requests = [Request(0, old.view()), Request(1, new.view())]
    thread = Thread(
        "main",
        requests=requests,
        end=new.view(),
        compactions=[Compaction(1, "auto", summary=SEALED)],
    )
    desk = Workbench()
    desk.open(Session("test", (thread,), path="a"))
    text = readable_summary(desk.state, SEALED)
    assert text.startswith(LABEL)
    assert "initial goal" in text
    assert readable_summary(desk.state, old.own[0]) == ""


def test_of_a_step() -> None:
    stretch = Stretch(None, conv(6).messages)
    desk = Workbench()
    desk.open(
        Session(
            "test",
            (Thread("main", requests=[Request(0, stretch.view())], end=stretch.view()),),
            path="a",
        )
    )
    desk.stepping.choose(answer_by="hand", remote=True, settings=(("opaque_items", "keep"),))
    desk.stepping.step("L3a")
    desk.stepping.answer(Answer(messages=(SEALED,)))
    made = next(m for m in desk.state.buffer().messages if isinstance(m.parts[0], Opaque))
    assert "user reply 0" in readable_summary(desk.state, made)
