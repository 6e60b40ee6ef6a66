"""What every tier would do where we stand: a verdict at once, a preview a moment later. Changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.policies.policy import Policy, Verdict
from inspector.core.tokens.sizing import Sizer
from inspector.workbench.state.preview import Preview


class Same:
    """Equal to another that holds the very same object. Holding it keeps its identity from being used again."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Holds for one standpoint: a buffer, a running state, and what the user chose."""

    standpoint: tuple[object, ...]
    policy: Policy[Any, Any]
    settings: Any
    buffer: Buffer
    running: Any
    estimated: int
    """Tokens of the buffer by the policy's own estimator, raw ..."""
    tokens: int
    """... and as it believes them to be: what its watermarks are compared with."""
    sizer: Sizer
    """What a buffer here really weighs: every size that is shown."""
    verdicts: tuple[Verdict, ...]
    shown: int = 0
    """Tokens of the buffer by that measure."""
    previews: Mapping[str, Preview] = field(default_factory=lambda: MappingProxyType({}))
    """By tier; those that are missing are being worked out."""

    @property
    def next(self) -> str:
        """The tier that would fire first; empty where none is due."""
        return next((verdict.tier for verdict in self.verdicts if verdict.due), "")

    @property
    def missing(self) -> tuple[str, ...]:
        """Tiers whose preview is not there yet."""
        return tuple(tier.name for tier in self.policy.tiers if tier.name not in self.previews)

    def with_preview(self, preview: Preview) -> "Outlook":
        """With one more preview."""
        return replace(self, previews=MappingProxyType({**self.previews, preview.tier: preview}))
