"""Writes events as the records of a Claude Code session: one content block a line, chained by uuid, usage repeated."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from sample.blocks import Record, assistant_of, blocks_of, dumps, output_of, text_of
from sample.dice import BASE62, HEX, Dice
from sample.picture import picture
from sample.play import Call, Event, Turn
from sample.provider import PROMPT, SHARED, Meter, at_start, tokens_of
from sample.script import Scene
from sample.workspace import HOME, Workspace

MODEL, AGENT_MODEL = "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"
VERSION, BRANCH, SLUG = "2.1.62", "fix/rounding", "steady-counting-heron"
START = datetime(2026, 3, 2, 8, 58, 11, 204_000, tzinfo=timezone.utc)  # noqa: UP017
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers the"
    " earlier portion of the conversation.\n\n"
)
AGENT_PROMPT, AGENT_SHARED = 9_412, 6_120


@dataclass(slots=True)
class Transcript:
    """The records so far, and where the clock, the chain and the meter stand."""

    workspace: Workspace
    records: list[Record] = field(default_factory=list)
    dice: Dice = field(default_factory=lambda: Dice("session"))
    clock: datetime = START
    parent: str | None = None
    meter: Meter = field(default_factory=lambda: Meter(PROMPT, SHARED))
    backups: dict[str, int] = field(default_factory=dict)
    turn_began: datetime = START
    session: str = "6f0b7c52-3d1e-4b8a-9a47-de5000000001"

    def perform(self, events: Iterable[Event]) -> list[Record]:
        """All records."""
        for event in events:
            if isinstance(event, Turn):
                self._turn(event)
            else:
                getattr(self, f"_{event.kind}")(event)
        self._end_of_turn()
        return self.records

    # what is not an answer of the model

    def _title(self, scene: Scene) -> None:
        self.records.append(
            {"type": "custom-title", "customTitle": scene.words, "sessionId": self.session}
        )

    def _pause(self, scene: Scene) -> None:
        self._end_of_turn()
        self._wait(int(scene.words) * 60_000)
        if int(scene.words) > 5:
            self.meter.forget()

    def _user(self, scene: Scene) -> None:
        if scene.words != "first":
            self._end_of_turn()
            self._wait(self.dice.between(18_000, 110_000))
        identity = self._uuid()
        self._snapshot(identity)
        content: Any = scene.text
        tokens = tokens_of(scene.text, self.dice)
        if scene.words == "first":
            image = {"type": "base64", "media_type": "image/png", "data": picture()}
            content = [{"type": "text", "text": scene.text}, {"type": "image", "source": image}]
            tokens += 312 * 232 // 750
        self.meter.add(tokens)
        self.turn_began = self.clock
        said = {"type": "user", "message": {"role": "user", "content": content}}
        self._chained(said | {"todos": [], "permissionMode": "acceptEdits"}, identity)

    def _snapshot(self, message: str, update: bool = False) -> None:
        kept = {
            name: {
                "backupFileName": f"{Dice(name).word(HEX, 16)}@v{n}",
                "version": n,
                "backupTime": self._time(),
            }
            for name, n in self.backups.items()
        }
        body = {"messageId": message, "trackedFileBackups": kept, "timestamp": self._time()}
        self.records.append(
            {
                "type": "file-history-snapshot",
                "messageId": message,
                "snapshot": body,
                "isSnapshotUpdate": update,
            }
        )

    def _queued(self, scene: Scene) -> None:
        """A prompt typed while the agent worked."""
        stamp = {"timestamp": self._time(), "sessionId": self.session}
        self.records.append(
            {"type": "queue-operation", "operation": "enqueue", **stamp, "content": scene.text}
        )
        self._wait(900)
        self.records.append(
            {
                "type": "queue-operation",
                "operation": "remove",
                **stamp | {"timestamp": self._time()},
            }
        )
        queued = {
            "type": "queued_command",
            "prompt": scene.text,
            "source_uuid": self._uuid(),
            "commandMode": "prompt",
        }
        self._attachment(queued | {"origin": {"kind": "human"}}, scene.text)

    def _edited(self, scene: Scene) -> None:
        """The user changed a file by hand."""
        old, _, new = scene.text.partition("\n====>\n")
        said, _ = self.workspace.edit(scene.words, old, new)
        snippet = said.partition("snippet of the edited file:\n")[2]
        self._attachment(
            {"type": "edited_text_file", "filename": f"{HOME}/{scene.words}", "snippet": snippet},
            snippet,
        )

    def _attachment(self, attachment: Record, text: str) -> None:
        self.meter.add(tokens_of(text, self.dice) + 40)
        self._chained({"type": "attachment", "attachment": attachment})

    def _apierror(self, scene: Scene) -> None:
        error = {
            "message": '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "formatted": "API Error (529 overloaded_error)",
            "status": 529,
        }
        for attempt in range(1, int(scene.words) + 1):
            retry = {
                "retryInMs": 500 * 2**attempt + self.dice.between(0, 90),
                "retryAttempt": attempt,
                "maxRetries": 10,
            }
            self._chained(
                {
                    "type": "system",
                    "subtype": "api_error",
                    "level": "error",
                    "error": error,
                    **retry,
                }
            )
            self._wait(int(retry["retryInMs"]))

    def _compact(self, scene: Scene) -> None:
        self._wait(self.dice.between(71_000, 98_000))
        before, self.parent = self.parent, None
        boundary = {
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
        }
        measured = {
            "trigger": "auto",
            "preTokens": self.meter.context + self.dice.between(300, 900),
        }
        self._chained(
            boundary | {"level": "info", "compactMetadata": measured, "logicalParentUuid": before}
        )
        summary = SUMMARY + scene.text
        said = {"type": "user", "message": {"role": "user", "content": summary}}
        self._chained(said | {"isVisibleInTranscriptOnly": True, "isCompactSummary": True})
        self.meter.compact(tokens_of(summary, self.dice))
        for path in scene.words.split():
            text, kept = self.workspace.read(path)
            attachment = {
                "type": "file",
                "filename": f"{HOME}/{path}",
                "content": kept,
                "displayPath": path,
            }
            self._attachment(attachment, text)

    def _end_of_turn(self) -> None:
        if not self.parent or self.clock == self.turn_began:
            return
        self._wait(140)
        stop = {
            "hookCount": 1,
            "hookInfos": [{"command": "./scripts/after-turn.sh", "durationMs": 61}],
            "hookErrors": [],
        }
        more = {
            "preventedContinuation": False,
            "stopReason": "",
            "hasOutput": False,
            "level": "suggestion",
        }
        self._chained(
            {
                "type": "system",
                "subtype": "stop_hook_summary",
                **stop,
                **more,
                "toolUseID": self._uuid(),
            }
        )
        took = round((self.clock - self.turn_began).total_seconds() * 1000)
        self._chained(
            {"type": "system", "subtype": "turn_duration", "durationMs": took, "isMeta": False}
        )
        self.turn_began = self.clock

    # answers of the model

    def _turn(self, turn: Turn) -> None:
        blocks, calls = blocks_of(turn, self.dice)
        output = output_of(turn, self.dice)
        usage = self.meter.call(output, self.dice)
        shown = tokens_of(turn.thinking, self.dice) if turn.thinking else 0
        self.meter.add(
            shown + sum(tokens_of(dumps(b), self.dice) for b in blocks if b["type"] != "thinking")
        )
        self._wait(1_900 + output * self.dice.between(11, 16))
        message = {
            "id": f"msg_01{self.dice.word(BASE62, 22)}",
            "request": f"req_011C{self.dice.word(BASE62, 20)}",
        }
        waiting = {
            id(block): call
            for block, call in zip(blocks[len(blocks) - len(calls) :], calls, strict=True)
        }
        owners: list[tuple[Call, str, str]] = []
        for n, block in enumerate(blocks):
            last = n == len(blocks) - 1
            stop = ("tool_use" if calls else "end_turn") if last else None
            told = usage if last else at_start(usage, 3)
            owner = self._chained(assistant_of(message, MODEL, block, stop, told))
            if id(block) in waiting:
                owners.append((waiting[id(block)], block["id"], owner))
            self._wait(self.dice.between(180, 700))
        for call, call_id, owner in owners:
            self._result(call, call_id, owner, message["id"])

    def _result(self, call: Call, call_id: str, owner: str, message: str) -> None:
        self.parent = owner
        if call.turns:
            self._agent(call, call_id, message)
        elif call.name == "Bash" and len(call.said) > 1_500:
            self._wait(2_000)
            seen = {
                "output": call.said[:60],
                "fullOutput": call.said[:60],
                "elapsedTimeSeconds": 2,
                "totalLines": 1,
            }
            data = {"type": "bash_progress", **seen, "timeoutMs": 120_000}
            self._chained(
                {
                    "type": "progress",
                    "data": data,
                    "toolUseID": "bash-progress-0",
                    "parentToolUseID": call_id,
                }
            )
        self._wait(self.dice.between(40, 420))
        content: Any = call.said
        if call.turns:
            content = [
                {"type": "text", "text": call.said},
                {"type": "text", "text": call.kept.pop("told")},
            ]
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if call.failed or call.name == "Bash":
            block["is_error"] = call.failed
        said = {"type": "user", "message": {"role": "user", "content": [block]}}
        identity = self._chained(
            said | {"toolUseResult": call.kept, "sourceToolAssistantUUID": owner}
        )
        self.meter.add(tokens_of(call.said, self.dice))
        if call.name in ("Edit", "Write") and not call.failed:
            path = call.input["file_path"].removeprefix(f"{HOME}/")
            self.backups[path] = self.backups.get(path, 0) + 1
            self._snapshot(identity, update=True)

    def _agent(self, call: Call, call_id: str, message: str) -> None:
        """The sub-agent's own messages, as progress of the call."""
        meter, began, agent = Meter(AGENT_PROMPT, AGENT_SHARED), self.clock, self.dice.word(HEX, 7)
        meter.add(tokens_of(call.input["prompt"], self.dice))
        frame = (call.input["prompt"], agent, f"agent_{message}", call_id)
        self._progress(
            frame,
            {"type": "user", "message": {"role": "user", "content": text_of(call.input["prompt"])}},
        )
        usage: dict[str, Any] = {}
        for turn in call.turns:
            blocks, calls = blocks_of(turn, self.dice)
            usage = meter.call(output_of(turn, self.dice), self.dice)
            self._wait(1_200 + usage["output_tokens"] * 8)
            meter.add(sum(tokens_of(dumps(block), self.dice) for block in blocks))
            names = {
                "id": f"msg_01{self.dice.word(BASE62, 22)}",
                "request": f"req_011C{self.dice.word(BASE62, 20)}",
            }
            for n, block in enumerate(blocks):
                stop = ("tool_use" if calls else "end_turn") if n == len(blocks) - 1 else None
                self._progress(frame, assistant_of(names, AGENT_MODEL, block, stop, usage))
            for block, own in zip(blocks[len(blocks) - len(calls) :], calls, strict=True):
                result = {"tool_use_id": block["id"], "type": "tool_result", "content": own.said}
                meter.add(tokens_of(own.said, self.dice))
                self._wait(self.dice.between(15, 90))
                self._progress(
                    frame, {"type": "user", "message": {"role": "user", "content": [result]}}
                )
        took = round((self.clock - began).total_seconds() * 1000)
        uses, total = sum(len(turn.calls) for turn in call.turns), meter.context
        told = f"<usage>total_tokens: {total}\ntool_uses: {uses}\nduration_ms: {took}</usage>"
        call.kept = {
            "status": "completed",
            "prompt": call.input["prompt"],
            "agentId": agent,
            "content": text_of(call.said),
            "totalDurationMs": took,
            "totalTokens": total,
            "totalToolUseCount": uses,
            "usage": usage,
            "told": f"agentId: {agent} (for resuming to continue this agent's work if needed)\n{told}",
        }

    def _progress(self, frame: tuple[str, str, str, str], body: Record) -> None:
        prompt, agent, use, parent_use = frame
        inner = {**body, "uuid": self._uuid(), "timestamp": self._time()}
        data = {
            "message": inner,
            "normalizedMessages": [],
            "type": "agent_progress",
            "prompt": prompt,
            "agentId": agent,
        }
        self._chained(
            {"type": "progress", "data": data, "toolUseID": use, "parentToolUseID": parent_use}
        )

    # the chain and the clock

    def _chained(self, body: Record, identity: str = "") -> str:
        identity = identity or self._uuid()
        place = {"userType": "external", "cwd": HOME, "sessionId": self.session, "version": VERSION}
        head = {
            "parentUuid": self.parent,
            "isSidechain": False,
            **place,
            "gitBranch": BRANCH,
            "slug": SLUG,
        }
        self.records.append({**head, **body, "uuid": identity, "timestamp": self._time()})
        self.parent = identity
        return identity

    def _uuid(self) -> str:
        word = self.dice.word(HEX, 32)
        return f"{word[:8]}-{word[8:12]}-4{word[13:16]}-{'89ab'[int(word[16], 16) % 4]}{word[17:20]}-{word[20:]}"

    def _time(self) -> str:
        return f"{self.clock:%Y-%m-%dT%H:%M:%S}.{self.clock.microsecond // 1000:03}Z"

    def _wait(self, milliseconds: int) -> None:
        self.clock += timedelta(milliseconds=milliseconds)
