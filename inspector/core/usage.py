"""What the provider reported for one model call."""

from dataclasses import dataclass

from inspector.core.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `input` is the uncached part only; `output` includes reasoning."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    output_is_final: bool = True
    """False where the transcript holds a placeholder of the stream's start: `output` is then a lower bound."""
    context: int | None = None
    """The prompt size, where it is not the sum (a call with several iterations costs more than its context)."""

    @property
    def prompt(self) -> int:
        """The true prompt size: input + cache read + cache write, or `context` where that differs."""
        if self.context is not None:
            return self.context
        return self.input + self.cache_read + self.cache_write
