"""What happens before each model call, in learn-claude-code's order (spec 4.3): the same for every list of messages."""

from collections.abc import Sequence

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.learn_claude_code.auto import compact
from inspector.core.policies.learn_claude_code.micro import microcompact
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.spill import is_large, spill
from inspector.core.policies.learn_claude_code.wire import tokens, wires
from inspector.core.policies.policy import Moment


def sizes(messages: Sequence[Message], settings: Settings) -> tuple[int, int]:
    """(tokens of the list, what a compaction would save: all but the newest messages)."""
    whole = wires(messages)
    total = tokens(whole)
    return total, total - tokens(whole[-settings.recent_messages :])


def should_compact(messages: Sequence[Message], settings: Settings) -> bool:
    """Above the threshold, and worth it."""
    total, savings = sizes(messages, settings)
    return total > settings.threshold and savings >= settings.min_savings


def before_call(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment, *, micro: bool = True
) -> Conversation[tuple[Outcome[Running], ...]]:
    """Outputs that came in too large, micro-compaction, auto compaction where it is due.

    A sub-agent's list (`micro` off) is only ever compacted as a whole.
    """
    done: list[Outcome[Running]] = []
    if any(is_large(message, settings) for message in buffer.messages):
        done.append((yield from spill(buffer, settings, running)))
        buffer = done[-1].buffer
    if micro:
        done.append(microcompact(buffer, settings, running))
        buffer = done[-1].buffer
    if not running.open and should_compact(buffer.messages, settings):
        done.append((yield from compact("auto", buffer, settings, running, moment)))
    return tuple(done)
