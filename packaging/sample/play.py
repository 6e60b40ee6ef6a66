"""Plays the story: every tool call is carried out on the workspace, and becomes a turn with what the tool said.

Commands are not run but looked up among the frozen outputs; a `Runner` that runs them is only used to freeze them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from sample.script import Scene
from sample.workspace import HOME, ToolFailed, Workspace

TO = "\n====>\n"
"""Stands between what an edit replaces and what it puts there."""


class Runner(Protocol):
    """Says what a command prints, and its exit status. `number` counts the commands of the story."""

    def __call__(self, workspace: Workspace, number: int, command: str) -> tuple[str, int]: ...


@dataclass(slots=True)
class Call:
    """One tool call with its result: `said` to the model, `kept` by the client."""

    name: str
    input: dict[str, Any]
    said: str = ""
    kept: Any = None
    failed: bool = False
    turns: "list[Turn]" = field(default_factory=list)
    """Of the sub-agent that the call started."""


@dataclass(slots=True)
class Turn:
    """One answer of the model."""

    thinking: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list)


Event = Turn | Scene
"""A turn, or a scene that is no answer of the model: user, pause, compact, ..."""


class Play:
    """The story on a workspace."""

    def __init__(self, workspace: Workspace, runner: Runner) -> None:
        self._workspace, self._runner = workspace, runner
        self._commands = 0

    def events(self, scenes: Sequence[Scene]) -> Iterator[Event]:
        """In order. A turn is complete when it is handed out."""
        turn: Turn | None = None
        waiting = list(reversed(scenes))
        while waiting:
            scene = waiting.pop()
            opens = scene.kind == "think" or (turn is not None and self._is_full(turn, scene))
            if turn is not None and (opens or scene.kind not in ("say", "call", "and")):
                yield turn
                turn = None
            match scene.kind:
                case "think":
                    turn = Turn(thinking=scene.text)
                case "say":
                    turn = turn or Turn()
                    turn.text = scene.text
                case "call" | "and":
                    turn = turn or Turn()
                    turn.calls.append(self._call(scene, waiting))
                case _:
                    yield scene
        if turn is not None:
            yield turn

    @staticmethod
    def _is_full(turn: Turn, scene: Scene) -> bool:
        if scene.kind == "say":
            return bool(turn.text or turn.calls)
        return scene.kind == "call" and bool(turn.calls)

    def _call(self, scene: Scene, waiting: list[Scene]) -> Call:
        tool, _, words = scene.words.partition(" ")
        try:
            return getattr(self, f"_{tool.lower()}")(words, scene.text, waiting)  # type: ignore[no-any-return]
        except ToolFailed as failure:
            plain = re.sub(r"</?tool_use_error>", "", str(failure))
            return Call(
                tool,
                self._failed_input(tool, words, scene.text),
                str(failure),
                f"Error: {plain}",
                True,
            )

    @staticmethod
    def _failed_input(tool: str, words: str, text: str) -> dict[str, Any]:
        path = {"file_path": f"{HOME}/{words}"}
        if tool != "Edit":
            return path
        old, _, new = text.partition(TO)
        return path | {"old_string": old, "new_string": new}

    def _read(self, words: str, _text: str, _waiting: list[Scene]) -> Call:
        path, *place = words.split()
        numbers = [int(word) for word in place]
        said, kept = self._workspace.read(path, *numbers)
        sent = {"file_path": f"{HOME}/{path}"} | dict(
            zip(("offset", "limit"), numbers, strict=False)
        )
        return Call("Read", sent, said, kept)

    def _edit(self, path: str, text: str, _waiting: list[Scene]) -> Call:
        old, _, new = text.partition(TO)
        said, kept = self._workspace.edit(path, old, new)
        return Call(
            "Edit",
            {"file_path": f"{HOME}/{path}", "old_string": old, "new_string": new},
            said,
            kept,
        )

    def _write(self, path: str, text: str, _waiting: list[Scene]) -> Call:
        said, kept = self._workspace.write(path, text)
        return Call("Write", {"file_path": f"{HOME}/{path}", "content": f"{text}\n"}, said, kept)

    def _grep(self, words: str, text: str, _waiting: list[Scene]) -> Call:
        path, _, glob = words.partition(" ")
        said, kept = self._workspace.grep(text, path, glob or "*")
        sent = {"pattern": text, "path": f"{HOME}/{path}", "output_mode": "content", "-n": True}
        return Call("Grep", sent | ({"glob": glob} if glob else {}), said, kept)

    def _glob(self, words: str, _text: str, _waiting: list[Scene]) -> Call:
        said, kept = self._workspace.glob(words)
        return Call("Glob", {"pattern": words}, said, kept)

    def _bash(self, words: str, text: str, _waiting: list[Scene]) -> Call:
        self._commands += 1
        out, status = self._runner(self._workspace, self._commands, text)
        kept = {
            "stdout": out,
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": not out,
        }
        sent = {"command": text, "description": words}
        if status:
            said = f"Exit code {status}\n{out}"
            return Call("Bash", sent, said, f"Error: {said}", True)
        return Call("Bash", sent, out or "(Bash completed with no output)", kept)

    def _todowrite(self, _words: str, text: str, _waiting: list[Scene]) -> Call:
        states = {"x": "completed", ">": "in_progress", "-": "pending"}
        todos = [
            {"content": line[2:], "status": states[line[0]], "activeForm": line[2:]}
            for line in text.split("\n")
            if line
        ]
        said = (
            "Todos have been modified successfully. Ensure that you continue to use the todo list to track your"
            " progress. Please proceed with the current tasks if applicable"
        )
        return Call("TodoWrite", {"todos": todos}, said, {"oldTodos": [], "newTodos": todos})

    def _task(self, words: str, text: str, waiting: list[Scene]) -> Call:
        kind, _, description = words.partition(" ")
        own: list[Scene] = []
        while waiting[-1].kind != "agentend":
            own.append(waiting.pop())
        report = waiting.pop().text
        turns = [event for event in self.events(own) if isinstance(event, Turn)]
        sent = {"description": description, "prompt": text, "subagent_type": kind}
        return Call("Task", sent, report, None, False, [*turns, Turn(text=report)])


class Frozen:
    """Outputs as they were when the story was last performed. Raises KeyError where the story has changed since."""

    def __init__(self, outputs: dict[str, str]) -> None:
        self._outputs = outputs

    def __call__(self, workspace: Workspace, number: int, command: str) -> tuple[str, int]:
        out = self._outputs[output_name(number, command)]
        status, _, text = out.partition("\n")
        return text, int(status)


def output_name(number: int, command: str) -> str:
    """Under which the output of a command is frozen: a changed command has another name."""
    return f"{number:03} {sha256(command.encode()).hexdigest()[:12]}"
