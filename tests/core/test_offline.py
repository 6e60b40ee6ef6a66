"""The offline summariser fills Roku's contract from any buffer, and says what it is."""

from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Summarize
from inspector.core.offline import LABEL, summarise
from inspector.core.policies.roku.compaction import HEADERS

SESSION = (
    Message("1", "user", (Text("Fix the rounding bug in ledger/money.py. 不要改接口。"),)),
    Message(
        "2",
        "assistant",
        (
            Text("The cause is float division."),
            ToolCall("c", "Edit", {"file_path": "ledger/money.py"}),
        ),
    ),
    Message("3", "tool", (ToolResult("c", "String not found", True),)),
)


def test_from_messages() -> None:
    text = summarise(Summarize("", "", source=SESSION))
    assert text.startswith(LABEL)
    assert all(f"{header}" in text for header in HEADERS)
    assert "- Fix the rounding bug in ledger/money.py." in text
    assert "- 不要改接口。" in text
    assert "- ledger/money.py (changed)" in text
    assert "- Edit ledger/money.py: error" in text
    assert "- The cause is float division." in text
    assert text == summarise(Summarize("", "", source=SESSION))


def test_from_text_alone_and_from_nothing() -> None:
    text = summarise(Summarize("", "[1 messages compacted]\nUser: see a/b.py\n  → tool_use: Read"))
    assert "- see a/b.py" in text
    assert "- Read called 1 times" in text
    assert all(header in summarise(Summarize("", "")) for header in HEADERS)
