"""Did the provider's prompt cache break, and what changed? (spec 1.11)"""

from dataclasses import dataclass, replace
from hashlib import sha256

from inspector.core.buffer import Prompt
from inspector.core.jsontext import dumps

RELATIVE_DROP = 0.05
ABSOLUTE_DROP = 2_000
"""Both must be exceeded, strictly, for a report."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the cached prefix hangs on."""

    system: str
    tools: str
    model: str


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """A report: tokens lost and what changed (`system_prompt`, `tool_schema`, `model(a -> b)`; else `unknown`)."""

    tokens_lost: int
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detector:
    """The last fingerprints, the cache reads of the last call, and whether a compaction explains the next drop."""

    previous: Fingerprint | None = None
    current: Fingerprint | None = None
    baseline: int | None = None
    pending: bool = False

    def notify_compaction(self) -> "Detector":
        """The next response's cache reads become the new baseline without a report."""
        return replace(self, pending=True)

    def record_prompt_state(self, prompt: Prompt, model: str) -> "Detector":
        """Before each call."""
        return replace(self, previous=self.current, current=fingerprint(prompt, model))

    def check_response(self, cache_read: int) -> "tuple[Detector, CacheBreak | None]":
        """After each call, with the tokens it read from the cache."""
        if self.current is None:
            return self, None
        after = replace(self, baseline=cache_read, pending=False)
        before = self.baseline
        if self.pending or not before or cache_read >= before:
            return after, None
        drop = before - cache_read
        if drop / before > RELATIVE_DROP and drop > ABSOLUTE_DROP:
            return after, CacheBreak(drop, _changed(self.previous, self.current))
        return after, None


def fingerprint(prompt: Prompt, model: str) -> Fingerprint:
    """Hashes of the static system prompt and of the tool schemas, and the model's name."""
    tools = dumps([tool.definition for tool in prompt.tools or ()])
    return Fingerprint(_hash(prompt.system or ""), _hash(tools), model)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _changed(before: Fingerprint | None, now: Fingerprint) -> tuple[str, ...]:
    if before is None:
        return ("unknown",)
    changed = []
    if before.system != now.system:
        changed.append("system_prompt")
    if before.tools != now.tools:
        changed.append("tool_schema")
    if before.model != now.model:
        changed.append(f"model({before.model} -> {now.model})")
    return tuple(changed) or ("unknown",)
