"""Twenty questions that users ask most: each is answered by one command, shown here on the sample session.

A question maps to the command and to what its answer must say. The README names the commands.
"""

import re
from pathlib import Path

import pytest

from inspector.cli import main as cli

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = str(ROOT / "resources" / "sample.jsonl")
README = (ROOT / "README.md").read_text(encoding="utf-8")

QUESTIONS: tuple[tuple[str, str, str], ...] = (
    ("What did the compaction lose?", "lost", r"before request 79.*facts: .* gone"),
    ("Do my rules still stand?", "pins", r"constraint +recorded +[█▒·]+"),
    (
        "Which tool or MCP server costs how much?",
        "breakdown --at 78",
        r"Read +(-|\S+) +\d+ +\d+ +[\d,]+",
    ),
    (
        "At what size does it compact?",
        "info",
        r"trigger +Claude Code compacts at 76\.6%, observed once",
    ),
    (
        "Why did the cache miss, and what did it cost?",
        "cost",
        r"40,513 +\$0\.25 +expired +The cache expired: 7 min",
    ),
    ("What did the session cost?", "cost", r"total +\$8\.67 = "),
    ("What fills the window now?", "breakdown", r"tool results +[\d,]+ +\d+\.\d%"),
    (
        "What is in the window twice, and what is stale?",
        "info",
        r"stale copies of \d+ files took [\d,]+ tokens",
    ),
    ("When did it jump?", "info", r"jump +request 105 grew by 21,744 tokens \(Read .*rates\.csv\)"),
    (
        "Cache for one hour or for five minutes?",
        "cost",
        r"1h cache writes throughout would have cost \$0\.48 more",
    ),
    (
        "Do the compactions pay for themselves?",
        "cost",
        r"auto +153,212 +24,170 +\$0\.10 +\$0\.08 +after 2 requests",
    ),
    ("Is the goal of the task still in context?", "pins", r"request +found"),
    (
        "How much was read again after the compaction?",
        "lost",
        r"spent \d+ calls, [\d,]+ tokens, \$\d",
    ),
    (
        "Which policy, which threshold?",
        "replay --policy roku --policy codex",
        r"Best on cost|Not beaten on both",
    ),
    ("What did the sub-agents cost?", "cost", r"thread b8d6b21: \$0\.04"),
    ("What is in the first request?", "breakdown --at 0", r"request 0: 18,547 tokens"),
    ("Was something dropped silently?", "info", r"changes of the buffer:\n.*loss"),
    (
        "Did the summary invent or change anything?",
        "lost",
        r"Its summary invents no path, address, name or number",
    ),
    (
        "Give me back what was lost, to paste it.",
        "lost --give-back",
        r"was lost and still counts:\n\n.*\n- \S",
    ),
    (
        "Why do the client's percentage and the provider's differ?",
        "buffer --at 78",
        r"own count +[\d,]+ \(roku\)",
    ),
)


@pytest.mark.parametrize(
    ("question", "command", "answer"), QUESTIONS, ids=[question for question, _, _ in QUESTIONS]
)
def test_question_is_answered_by_its_command(
    capsys: pytest.CaptureFixture[str], question: str, command: str, answer: str
) -> None:
    name, *options = command.split()
    assert cli.main([name, SAMPLE, *options]) == 0
    printed = capsys.readouterr().out
    assert re.search(answer, printed, flags=re.DOTALL), f"{question}\n{printed[:3000]}"


def test_summary_that_changes_a_version_is_told_with_what_was_said_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = Path(SAMPLE).read_text(encoding="utf-8").splitlines()
    place = next(
        n for n, line in enumerate(lines) if '"isCompactSummary":true' in line.replace(" ", "")
    )
    assert "alipay-2025-11.csv" in lines[place]
    lines[place] = lines[place].replace("alipay-2025-11.csv", "wechat-2024-10.csv")
    changed = tmp_path / "changed.jsonl"
    changed.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert cli.main(["lost", str(changed)]) == 0
    printed = capsys.readouterr().out
    assert re.search(
        r"names 1 thing that no earlier message names: \S*wechat-2024-10\.csv\.", printed
    ), printed[:2000]


def test_commands_of_the_questions_are_named_in_the_readme() -> None:
    commands = {command.split()[0] for _, command, _ in QUESTIONS}
    assert [command for command in commands if f"context-inspector {command} " not in README] == []
