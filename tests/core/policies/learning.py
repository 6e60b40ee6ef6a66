"""What the cases of learn-claude-code run in."""

from collections.abc import Mapping

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import read_wire_messages
from inspector.core.message import Json, Message
from inspector.core.needs import (
    Answer,
    AskModel,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RunTools,
    SaveText,
    SaveTranscript,
    Summarize,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.learn_claude_code import POLICY
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import assistant, buffer, result, user

FAIL = ProviderFailure("down")


DEFAULT = LearnSettings()


SAFE = LearnSettings(mode="safe")


SMALL = POLICY.settings([("overhead", "183000"), ("min_savings", "10")])
"""A threshold of 616 tokens."""


def m(tokens: int) -> Message:
    """m(k) with so many tokens."""
    return user("x" * (4 * tokens - 31))


class World:
    """Files, a disk, a summariser with answers in order, and a model."""

    def __init__(
        self,
        *summaries: str | Failure,
        files: Mapping[str, str] | None = None,
        answers: tuple[Answer, ...] = (),
    ) -> None:
        self.summaries = list(summaries)
        self.answers = list(answers)
        self.files = files or {}
        self.full_disk = False
        self.saved: list[tuple[str, tuple[Message, ...]]] = []
        self.outputs: list[str] = []
        self.needs: list[Need] = []

    def __call__(self, need: Need) -> Answer:
        self.needs.append(need)
        match need:
            case SaveTranscript() | SaveText() if self.full_disk:
                raise ProviderFailure("the disk is full")
            case SaveTranscript(messages, name):
                self.saved.append((name, messages))
                return Answer(text=f"{name}.jsonl")
            case SaveText(text):
                self.outputs.append(text)
                return Answer(text="out.txt")
            case ReadFile(path, limit):
                if path not in self.files:
                    raise ProviderFailure("no such file", kind="missing")
                return Answer(text=self.files[path][:limit])
            case Summarize() if self.summaries:
                reply = self.summaries.pop(0)
                if isinstance(reply, Failure):
                    raise reply
                return Answer(text=reply)
            case AskModel() if self.answers:
                return self.answers.pop(0)
            case RunTools(calls):
                return Answer(
                    messages=tuple(result(call.id, f"out of {call.name}") for call in calls)
                )
        raise ProviderFailure("nobody")

    @property
    def kinds(self) -> list[str]:
        return [type(need).__name__ for need in self.needs]


def run(
    tier: str,
    start: Buffer,
    world: World,
    settings: LearnSettings = DEFAULT,
    running: LearnState | None = None,
    moment: PolicyInput | None = None,
) -> Outcome[LearnState]:
    return drive(
        POLICY.tier(
            tier, PolicyContext(start, settings, running or LearnState(), moment or PolicyInput())
        ),
        world,
    )


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def ran(*outputs: tuple[str, int], unknown: int = -1) -> Buffer:
    """Calls in one assistant message, their results in one user message; the result at `unknown` has no call."""
    calls: list[tuple[str, str, Json]] = [
        (f"t{i}", tool, {}) for i, (tool, _) in enumerate(outputs)
    ]
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": "lost" if i == unknown else f"t{i}",
            "content": "x" * size,
        }
        for i, (_, size) in enumerate(outputs)
    ]
    return buffer(
        user("go"), assistant("", *calls), *read_wire_messages("user", blocks, id="results")
    )
