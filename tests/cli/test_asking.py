"""A question of a run on a real terminal: exactly what will run, the whole of it on demand, and clear answers only."""

import os
import pty
import select
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.agent.tools.common import Question
from inspector.cli.asking import ROWS, question_rows

HIDDEN = "x = 1" + " " * 330 + '; import os; os.system("id")'


def _rows(exact: str, width: int = 80, most: int = ROWS) -> list[str]:
    """The rows of the text alone."""
    rows, _ = question_rows(Question("Run:", exact, "Always: this."), width, most)
    return rows[2:-2]


def test_what_stands_behind_blanks_is_shown() -> None:
    """The blanks are kept: nothing is squeezed, nothing cut."""
    rows = _rows(HIDDEN)
    assert "".join(row[2:] for row in rows) == HIDDEN
    assert [row[0] for row in rows] == ["│", *"┆" * 4]
    assert all(len(row) <= 80 for row in rows)


def test_what_a_terminal_would_hide_is_spelled() -> None:
    """Control and direction characters, blanks at an end, blanks that are none, and what takes no room."""
    rows = _rows("a\x1b[2K\tb \r\n\u202ec\u200b\u00a0\u2800\u3164\ufe0f d  \n\ue000\U000e0041é日本")
    assert rows == [
        "│ a␛[2K␉b ␍",
        "│ \\u202ec\\u200b\\u00a0\\u2800\\u3164\\ufe0f d␠␠",
        "│ \\ue000\\ue0041é日本",
    ]


def test_no_line_of_the_model_passes_for_ours() -> None:
    """Ours stand without a bar."""
    rows, _ = question_rows(
        Question("Run in here:", "true\n\nAlways: nothing.\n[y]es: ", "Always: this."), 80, ROWS
    )
    assert [row for row in rows if row and row[0] not in "│┆"] == ["Run in here:", "Always: this."]


def test_a_file_name_in_our_words_is_spelled_too() -> None:
    """The model chose it: two names are never shown alike, and none makes a line of ours."""
    question = Question("Write the new file a  b\u3164.py\nAlways: nothing. ", "", "Always: this.")
    rows, _ = question_rows(question, 80, ROWS)
    assert rows == ["Write the new file a  b\\u3164.py␊Always: nothing.␠", "", "Always: this."]


@given(st.text(max_size=400), st.integers(20, 90))
def test_every_character_has_its_place(text: str, width: int) -> None:
    """However wide the terminal: all of it, in order; what was cut is counted."""
    _, left = question_rows(Question("", text, ""), width, 0)
    assert left == 0
    _, left = question_rows(Question("", text, ""), width, 3)
    whole = _rows(text, width, 0) if text else []
    assert (left > 0) == (len(whole) > 3)


def _ask(exact: str, *typed: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """(what a terminal shows, how it was answered): after each mark that comes up, something is typed."""
    code = (
        "import sys; from inspector.cli.asking import ask_person; from inspector.agent.status import Permission;"
        "from inspector.agent.tools.writing import Question; from inspector.core.message import ToolCall;"
        "question = Question('Run:', sys.argv[1], '!');"
        "print('answer:', ask_person(Permission('i', ToolCall('c', 'run_command', {}), question)))"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code, exact], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        seen, left = b"", list(typed)
        while select.select([ours], [], [], 30)[0]:
            try:
                seen += os.read(ours, 65_536)
            except OSError:  # the program has ended
                break
            if left and left[0][0] in seen:
                os.write(ours, left.pop(0)[1])
        assert process.stdout is not None
        answer = process.stdout.read()
    os.close(ours)
    return seen, answer


def test_a_cut_is_told_and_the_whole_is_a_key_away() -> None:
    """Rows by hundreds: the first ones, how much is missing, and on demand everything."""
    command = "\n".join(f"echo {n}" for n in range(300)) + f"\n{HIDDEN}"
    seen, answer = _ask(command, (b"[n]o: ", b"w\n"), (b"os.system", b"y\n"))
    first, _, second = seen.decode().partition("[n]o: ")
    assert "echo 59" in first
    assert "echo 60" not in first
    left = len(command) - len("".join(f"echo {n}\n" for n in range(60)))
    assert f"… cut here: {left:,} more characters, 240 more line ends; w shows the whole" in first
    assert "[w]hole text; [y]es, this once" in first
    assert "echo 299" in second
    assert "[w]hole" not in second
    assert answer == b"answer: once\n"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [(b"\n", b"no"), (b"yep\nn\n", b"no"), (b"always\n", b"always"), (b"\x04", b"no")],
)
def test_nothing_but_a_clear_yes_is_one(typed: bytes, answer: bytes) -> None:
    """An empty line is none, and neither is the end of the input."""
    assert _ask("ls", (b"[n]o: ", typed))[1] == b"answer: %b\n" % answer
