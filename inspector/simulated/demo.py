"""The demo: one long task in the sample workspace, carried out by the model `simulated-demo`.

Every answer says which step it is, and every tier keeps the newest messages, so the next step follows from the
conversation alone, whatever was compacted. What the script changes and reports is real: it edits the faulty file and
runs the tests, and its final text says how they really ended.

The steps are chosen so that each tier fires by its own condition (listed in `inspector.agent.starting`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.message import Message, ToolCall
from inspector.simulated.call import SimulatedAnswer, SimulatedCall

MODEL = "simulated-demo"
COMPACTIONS = 1
"""Number of remote compactions that succeed before the endpoint disappears."""
TASK = (
    "The test of the storm day fails: the report has no low water below datum on 14 March, but the wreck fell dry. "
    "Find out why, repair it, and show that the tests pass. Go through the log carefully, and keep notes in NOTES.md."
)
LOG, CODE, NOTES_FILE = "logs/gauge.log", "tidewatch/readings.py", "NOTES.md"
TESTS = "python3 -m unittest"
SIGNLESS, SIGNED = r"height (?P<height>\d+\.\d+) metres", r"height (?P<height>-?\d+\.\d+) metres"
NOTES = """# Notes

Task: the test of the storm day fails; find out why, repair it, show that the tests pass.

- The tests say: 384 readings in the log, 372 were read; low water of 14 March comes out as 0.05 m.
- Twelve readings are below datum, height -0.02 and lower, all of them on 14 March.
- tidewatch/readings.py: the pattern LINE has height (?P<height>\\d+\\.\\d+) metres; it knows no sign.
- Suspicion: a line with a minus does not match, and is left out without a word.
- Still to do: read the rest of the log, look at the residuals, then change LINE and run the tests.
"""


ABOUT = "Who relies on the sign"
SIDE_TASK = (
    "Which files of this program use the height of a reading, and does any of them rely on it that a height is never "
    "negative? Answer in two sentences."
)


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step of the demo: its text, and the tools that it calls together."""

    words: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]


def _read(path: str, offset: int = 0, limit: int = 0) -> tuple[str, Mapping[str, Any]]:
    where = {"offset": offset, "limit": limit} if limit else {}
    return "read_file", {"path": path, **where}


def _log(*firsts: int, lines: int = 60) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    return tuple(_read(LOG, first, lines) for first in firsts)


STEPS = (
    DemoStep("I will look around first.", (("list_files", {}),)),
    DemoStep("What is this program, and what is known to be wrong?", (_read("README.md"),)),
    DemoStep("Which tests fail, and how?", (("run_command", {"command": TESTS}),)),
    DemoStep("Here a line of the log becomes a reading.", (_read(CODE),)),
    DemoStep("And here readings become days.", (_read("tidewatch/daily.py"),)),
    DemoStep("The alarms are made from the same readings.", (_read("tidewatch/alarms.py"),)),
    DemoStep("How the report words it.", (_read("tidewatch/report.py"),)),
    DemoStep("Now the log, from its beginning.", _log(1, lines=80)),
    DemoStep("The second day.", _log(81, lines=80)),
    DemoStep("Towards the storm.", _log(161, lines=80)),
    DemoStep("The storm itself.", _log(221, lines=80)),
    DemoStep(
        "Which readings are below datum?", (("search_files", {"pattern": "height -", "path": LOG}),)
    ),
    DemoStep(
        "I keep what I know so far.", (("write_file", {"path": NOTES_FILE, "content": NOTES}),)
    ),
    DemoStep("What the last day looked like.", _log(301, lines=80)),
    DemoStep("The first night once more, for comparison.", _log(21, lines=80)),
    DemoStep("And the one before the storm.", _log(121, lines=80)),
    DemoStep("The whole second half at once, to be sure.", _log(201, 251, 301, 351)),
    DemoStep(
        "Does anything else rely on it? A sub-agent can look.",
        (("task", {"description": ABOUT, "prompt": SIDE_TASK}),),
    ),
    DemoStep("All of the storm again, beside the days around it.", _log(161, 201, 241, 281)),
    DemoStep(
        "The tests, word for word.", (_read("tests/test_readings.py"), _read("tests/test_daily.py"))
    ),
    DemoStep("And the first half in the same way.", _log(1, 51, 101, 151)),
    DemoStep("Both sides of the low water, once more.", _log(221, lines=100)),
    DemoStep("The night after it.", _log(281, lines=75)),
    DemoStep("And the evening before.", _log(141, lines=50)),
    DemoStep(
        "Were there such readings last year? The residuals.", (_read("data/residuals.csv", 1, 500),)
    ),
    DemoStep(
        "This is the line: the pattern knows no sign.",
        (("search_files", {"pattern": "height ", "path": CODE}),),
    ),
    DemoStep(
        "I let the height have a minus.",
        (("edit_file", {"path": CODE, "old_text": SIGNLESS, "new_text": SIGNED}),),
    ),
    DemoStep("Do the tests pass now?", (("run_command", {"command": TESTS}),)),
)


SIDE_STEPS = (
    DemoStep("Where is it used?", (("search_files", {"pattern": "height", "glob": "*.py"}),)),
    DemoStep("The alarms compare heights.", (_read("tidewatch/alarms.py"),)),
    DemoStep("And these are the lows and highs.", (_read("tidewatch/daily.py"),)),
)
SIDE_REPORT = (
    "(simulated) readings.py, daily.py, alarms.py and report.py use it. alarms.py compares it with the quay and with "
    "other gauges, daily.py takes minimum and maximum: neither minds a minus. Only the pattern in readings.py does."
)


def next_step(call: SimulatedCall) -> SimulatedAnswer:
    """Return the next step of the demo, or its report."""
    messages = call.buffer.messages
    if messages and messages[0].text == SIDE_TASK:
        done = sum(1 for message in messages if message.calls)
        if done < len(SIDE_STEPS):
            return _answer_step(call, SIDE_STEPS, done)
        return SimulatedAnswer(SIDE_REPORT)
    done = max(
        (int(number) for message in messages for number in _SAID.findall(_spoken_text(message))),
        default=0,
    )
    done -= done > 0 and _was_broken_off(messages)
    if done >= len(STEPS):
        return SimulatedAnswer(_report(messages))
    return _answer_step(call, STEPS, done)


def _answer_step(call: SimulatedCall, steps: Sequence[DemoStep], done: int) -> SimulatedAnswer:
    step = steps[done]
    calls = tuple(
        ToolCall(f"call_{call.digest}{index}", name, dict(arguments))
        for index, (name, arguments) in enumerate(step.calls)
    )
    return SimulatedAnswer(f"Step {done + 1} of {len(steps)}. {step.words}", calls, "calls")


_SAID = re.compile(rf"Step (\d{{1,3}}) of {len(STEPS)}\.")


_BROKEN_OFF = "The program was ended while this call ran"
"""The beginning of a runner's result for a call that was interrupted."""


def _was_broken_off(messages: Sequence[Message]) -> bool:
    """Was a call of the last step interrupted? Then the step is repeated."""
    for message in reversed(messages):
        if message.result is None:
            return False
        if message.result.is_error and message.result.content.startswith(_BROKEN_OFF):
            return True
    return False


def _spoken_text(message: Message) -> str:
    """Return the text of a message that may name steps: the model's own, a summary, or a quoted conversation."""
    if message.role == "assistant" or message.summary or message.text.startswith("["):
        return message.text
    return ""


def _report(messages: Sequence[Message]) -> str:
    """Return the report, based on the actual results of the last tests."""
    results = [message.result for message in messages if message.result is not None]
    tested = next(
        (
            result
            for result in reversed(results)
            if "Ran " in result.content and "test" in result.content
        ),
        None,
    )
    if tested is None:
        return "(simulated) I could not run the tests, so I cannot say that they pass. Nothing else is left to try."
    if tested.is_error:
        return f"(simulated) The tests still fail; the last lines were:\n{_last(tested.content.splitlines())}"
    return (
        "(simulated) Done. The pattern in tidewatch/readings.py knew no sign, so the twelve readings below datum were "
        "left out without a word, and low water of 14 March came out as 0.05 m instead of -0.50 m. I let the height "
        f"have a minus. The tests pass: {_last(tested.content.splitlines(), count=3)}. Nothing is left to do."
    )


def _last(lines: Iterable[str], count: int = 6) -> str:
    return " / ".join([line for line in lines if line.strip()][-count:])
