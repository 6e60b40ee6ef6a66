"""A client that writes down what it sends (Claude Code 2.1.330): records, and the bodies that they are records of."""

import json
from copy import deepcopy
from hashlib import sha256
from typing import Any

Lines = list[dict[str, Any]]


def reminder(words: str) -> str:
    return f"<system-reminder>\n{words}\n</system-reminder>"


class Sender:
    """Writes `lines` as the client writes its file; `bodies` are the messages of each request that was answered."""

    def __init__(self) -> None:
        self.lines: Lines = []
        self.bodies: list[Lines] = []
        self._messages: Lines = []
        self._told: set[str] = set()
        """Wire messages that the file holds: a record's own, or a blob."""
        self._last: tuple[str, list[str]] = ("", [])
        self._leaf: str | None = None
        self._count = 0

    def prompt(self, words: str, before: list[str], behind: list[str]) -> None:
        """What the user typed, with reminders in front of it and others that are one system item behind it."""
        self._record("user", message={"role": "user", "content": words})
        for role, said in (("user", before), ("system", behind)):
            self._attached(role, said)
        blocks = [{"type": "text", "text": f"{reminder(one)}\n"} for one in before]
        content = [*blocks, {"type": "text", "text": words}] if before else words
        self._say({"role": "user", "content": content}, in_records=not before)
        if behind:
            self._say({"role": "system", "content": "\n\n".join(behind)}, in_records=False)

    def answer(self, words: str, calls: list[str]) -> None:
        """The request is sent and answered, with a call for each name."""
        self.send()
        self.bodies.append(deepcopy(self._messages))
        blocks: Lines = [{"type": "text", "text": words}]
        blocks += [
            {"type": "tool_use", "id": f"t{self._count}-{n}", "name": n, "input": {}} for n in calls
        ]
        id_ = f"m{self._count}"
        for block in blocks:
            usage = {"input_tokens": 999 + len(self.bodies), "output_tokens": 5}
            message = {
                "id": id_,
                "role": "assistant",
                "model": "claude-opus-5",
                "content": [block],
                "usage": usage,
            }
            self._record("assistant", message=message, requestRef=self._last[0])
        self._say({"role": "assistant", "content": blocks}, in_records=True)

    def results(self, reminders: list[str]) -> None:
        """What came back for the calls of the last answer, in one wire message; a system item behind it."""
        calls = [block for block in self._messages[-1]["content"] if block["type"] == "tool_use"]
        blocks = [
            {"type": "tool_result", "tool_use_id": one["id"], "content": f"of {one['id']}"}
            for one in calls
        ]
        for block in blocks:
            self._record("user", message={"role": "user", "content": [block]})
        self._say({"role": "user", "content": blocks}, in_records=True)
        if reminders:
            self._attached("system", reminders)
            self._say({"role": "system", "content": "\n\n".join(reminders)}, in_records=False)

    def compact(self, summary: str, file: str) -> None:
        """A summary, which is sent behind the file that is attached again."""
        self._leaf = None
        self._record("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
        self._record("user", message={"role": "user", "content": summary}, isCompactSummary=True)
        self._attached("user", [file])
        self._messages = []
        content = [{"type": "text", "text": reminder(file)}, {"type": "text", "text": summary}]
        self._say({"role": "user", "content": content}, in_records=False)

    def clear(self) -> None:
        """The first result that stands in the buffer loses its content."""
        for n, message in enumerate(self._messages):
            first, *others = message["content"] if isinstance(message["content"], list) else [{}]
            if first.get("type") == "tool_result" and first["content"] != "[cleared]":
                self._messages[n] = {
                    **message,
                    "content": [{**first, "content": "[cleared]"}, *others],
                }
                return

    def withdraw(self) -> None:
        """The reminder in front of the last answer is not sent again."""
        del self._messages[-2]

    def resume(self) -> None:
        """A new process, which knows of no earlier request."""
        self._last = ("", [])

    def send(self) -> None:
        """Write down the request; alone: it is not answered."""
        hashes = [_hash(message) for message in self._messages]
        for name, message in zip(hashes, self._messages, strict=True):
            if name not in self._told:
                self._told.add(name)
                self.lines.append({"type": "api-request-blob", "hash": name, "message": message})
        base, before = self._last
        keep = next(
            (n for n, (one, other) in enumerate(zip(before, hashes, strict=False)) if one != other),
            None,
        )
        keep = min(len(before), len(hashes)) if keep is None else keep
        self._count += 1
        under = {"base": base} if base else {}
        request = {
            "type": "api-request",
            "id": f"q{self._count}",
            "keep": keep,
            "tail": hashes[keep:],
            **under,
        }
        self.lines.append(request)
        self._last = (f"q{self._count}", hashes)

    def _attached(self, role: str, said: list[str]) -> None:
        for words in said:
            rendered = {"rendered": [{"content": reminder(words)}], "renderedRole": role}
            self._record("attachment", attachment={"type": "date"}, **rendered)

    def _say(self, message: dict[str, Any], *, in_records: bool) -> None:
        self._messages.append(message)
        if in_records:
            self._told.add(_hash(message))

    def _record(self, kind: str, **fields: Any) -> None:
        self._count += 1
        record = {
            "type": kind,
            "uuid": f"u{self._count}",
            "parentUuid": self._leaf,
            "isSidechain": False,
            **fields,
        }
        self.lines.append({**record, "sessionId": "s1", "version": "2.1.330"})
        self._leaf = f"u{self._count}"


def _hash(message: dict[str, Any]) -> str:
    return sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()
