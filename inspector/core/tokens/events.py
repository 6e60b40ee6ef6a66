"""What happened while counting."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EstimatorCalibrated:
    """A call told its prompt size. Sent after every such call, even where the sample changed nothing (spec 1.13)."""

    step: int
    """Index of the request."""
    estimated_prompt_tokens: int
    """The scaled total before the call."""
    prompt_tokens: int
    scale: float
    """After the update."""
