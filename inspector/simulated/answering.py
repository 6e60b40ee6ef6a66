"""One answer of the model, however it is sent: what stands against it, what it says, what it costs."""

from typing import Any

from inspector.core.validity import ANTHROPIC
from inspector.simulated.call import Call, Said, within
from inspector.simulated.dialect import Dialect, Refused
from inspector.simulated.faults import Fault
from inspector.simulated.refusals import Refusal, invalid, output_overflow, overflow, status_refusal
from inspector.simulated.talk import speak
from inspector.simulated.world import World


def answered(dialect: Dialect, call: Call, world: World, fault: Fault, key: str) -> dict[str, Any]:
    """The whole answer, as JSON."""
    said = Said() if fault.kind == "empty" else within(speak(call), call.max_tokens)
    return dialect.answer(call, said, world.spend(dialect.name, call, said, key))


def check(dialect: Dialect, call: Call, world: World, fault: Fault) -> None:
    """Raises Refused for a prompt that does not pair up or does not fit."""
    if (refusal := invalid(dialect.name, call)) is not None:
        raise Refused(refusal)
    tokens = world.prompt_tokens(call)
    if fault.kind == "overflow-output" and dialect.name == ANTHROPIC:
        wanted = call.max_tokens or 0
        raise Refused(output_overflow(max(tokens, world.window - wanted + 1), wanted, world.window))
    if tokens > world.window or fault.kind in ("overflow", "overflow-output"):
        raise Refused(overflow(dialect.name, max(tokens, world.window + 1), world.window))


def late_refusal(dialect: Dialect, world: World, fault: Fault) -> Refusal:
    """What goes wrong in mid-stream."""
    if fault.kind == "overflow-late":
        return overflow(dialect.name, world.window + 1, world.window)
    return status_refusal(529)
