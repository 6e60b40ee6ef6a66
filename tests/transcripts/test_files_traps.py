"""Every trap that a file can be, really made and opened: the rest is shown, each problem is listed with its line."""

import gzip
import os
import socket
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.core.errors import InspectorError, NothingToRead, UnknownFormat
from inspector.core.session import Session
from inspector.transcripts import unpack
from inspector.transcripts.files import open_transcript
from tests.transcripts.made import lines_of, record, write

LINES = lines_of(8)


def problems(session: Session) -> list[tuple[int, str]]:
    return [(problem.line, problem.what) for problem in session.problems]


def opened(folder: Path, *lines: bytes) -> Session:
    return open_transcript(write(folder, lines))


def test_bad_lines_are_listed_with_number_reason_and_excerpt(tmp_path: Path) -> None:
    bad = b'{"type":"user","text":"eaten quote, "retryInMs":[REDACTED]312}\n'
    session = opened(tmp_path, *LINES[:3], bad, *LINES[3:5], b"hello\x07 world\n", *LINES[5:])
    assert len(session.main.requests) == 4
    assert [problem.line for problem in session.problems] == [4, 7]
    assert session.problems[0].what.startswith("not JSON: ")
    assert "line 1" not in session.problems[0].what
    assert session.problems[0].excerpt.startswith('{"type":"user","text":"eaten quote')
    assert session.problems[1].excerpt == "hello\N{REPLACEMENT CHARACTER} world"


def test_an_excerpt_is_short_and_printable(tmp_path: Path) -> None:
    session = opened(
        tmp_path, *LINES, b"{" + "中\u202e\x1b[31m\n".encode().replace(b"\n", b"") * 500 + b"\n"
    )
    (problem,) = session.problems
    assert len(problem.excerpt) <= 120
    assert problem.excerpt.isprintable()


def test_a_thousand_problems_are_kept_and_the_rest_is_counted(tmp_path: Path) -> None:
    session = opened(tmp_path, *LINES, *[b"bad\n"] * 2500)
    assert len(session.problems) == 1001
    assert (0, "1,500 more lines could not be read") in problems(session)


def test_a_torn_last_line(tmp_path: Path) -> None:
    session = opened(tmp_path, *LINES, LINES[0][:50])
    (problem,) = session.problems
    assert (problem.line, problem.what[:14]) == (9, "torn last line")
    assert len(session.main.requests) == 4


def test_a_last_line_without_its_newline_is_whole(tmp_path: Path) -> None:
    session = opened(tmp_path, *LINES[:-1], LINES[-1].rstrip(b"\n"))
    assert (len(session.main.requests), problems(session)) == (4, [])


def test_byte_order_mark_blank_lines_and_returns(tmp_path: Path) -> None:
    lines = [line.replace(b"\n", b"\r\n") for line in LINES]
    session = opened(tmp_path, b"\xef\xbb\xbf", *lines[:4], b"\r\n", b"   \n", *lines[4:])
    assert (len(session.main.requests), problems(session)) == (4, [])
    assert session.main.messages[4].line == 7


def test_utf_16(tmp_path: Path) -> None:
    for code in ("utf-16-le", "utf-16-be"):
        path = write(tmp_path, [("\ufeff" + b"".join(LINES).decode()).encode(code)])
        assert len(open_transcript(path).main.requests) == 4


def test_nul_bytes(tmp_path: Path) -> None:
    session = opened(
        tmp_path, *LINES[:3], bytes(40) + LINES[3], bytes(100) + b"\n", *LINES[4:], bytes(4096)
    )
    assert len(session.main.requests) == 4
    assert [(line, what[:12]) for line, what in problems(session)] == [
        (4, "40 NUL bytes"),
        (5, "100 NUL byte"),
    ]


def test_lone_surrogates(tmp_path: Path) -> None:
    session = opened(
        tmp_path, LINES[0].replace(b"user 0", b"\\ud800 \\\\ud800 \\ud83d\\ude00"), *LINES[1:]
    )
    assert problems(session) == []
    assert session.main.messages[0].text.startswith("\ufffd \\ud800 😀")
    session.main.messages[0].text.encode()


def test_nesting(tmp_path: Path) -> None:
    deep = b'{"type":"user","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n"
    deeper = b"[" * 1_000_000 + b"\n"
    session = opened(tmp_path, *LINES[:4], deep, deeper, *LINES[4:])
    assert len(session.main.requests) == 4
    assert [line for line, _ in problems(session)] == [5, 6]
    assert "nested deeper" in session.problems[0].what


def test_a_call_nested_deeply_is_read(tmp_path: Path) -> None:
    deep = b'{"a":' * 190 + b"1" + b"}" * 190
    call = b'[{"type":"tool_use","id":"t","name":"n","input":' + deep + b"}]"
    line = record(9).replace(b'[{"type":"text","text":"assistant 9 ' + b"word " * 8 + b'"}]', call)
    assert deep in line
    session = opened(tmp_path, *lines_of(9), line)
    assert session.main.messages[-1].calls[0].name == "n"


def test_invalid_utf_8(tmp_path: Path) -> None:
    session = opened(tmp_path, LINES[0].replace(b"user 0", b"\xff\xfe user"), *LINES[1:])
    assert session.main.messages[0].text.startswith("\ufffd\ufffd user")


def test_two_values_on_one_line(tmp_path: Path) -> None:
    session = opened(tmp_path, *LINES[:3], LINES[3].rstrip() + b" " + LINES[4], *LINES[5:])
    assert len(session.main.requests) == 4
    assert problems(session) == [(4, "2 JSON values are on one line; all were read")]


def test_values_of_any_kind(tmp_path: Path) -> None:
    odd = [
        b"null\n",
        b"3\n",
        b'"text"\n',
        b"[]\n",
        b"{}\n",
        b'{"type":7}\n',
        b'{"type":"user"}\n',
        b'{"type":"new"}\n',
    ]
    session = opened(tmp_path, *LINES[:4], *odd, *LINES[4:])
    assert len(session.main.requests) == 4


@pytest.mark.parametrize("where", [0, 1, 4])
def test_a_line_of_20_mb(tmp_path: Path, where: int) -> None:
    lines = list(LINES)
    lines[where] = record(where, 20_000_000)
    session = opened(tmp_path, *lines)
    assert problems(session) == []
    assert len(session.main.messages[where].text) > 19_000_000


def test_a_line_that_is_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "LONGEST", 1 << 20)
    session = opened(tmp_path, *LINES[:4], b'{"x":"' + b"y" * 3_000_000 + b'"}\n', *LINES[4:])
    assert len(session.main.requests) == 4
    ((line, what),) = problems(session)
    assert (line, what[:30]) == (5, "the line is longer than 1 MB (")


def test_the_first_lines_are_bad(tmp_path: Path) -> None:
    session = opened(tmp_path, b'{"cut": "off\n', b"{\n", *LINES)
    assert (len(session.main.requests), [line for line, _ in problems(session)]) == (4, [1, 2])


def test_the_first_line_opens_and_never_closes(tmp_path: Path) -> None:
    session = opened(tmp_path, b"{\n", *LINES)
    assert (len(session.main.requests), [line for line, _ in problems(session)]) == (4, [1])


def sentence(path: Path | str) -> str:
    with pytest.raises((NothingToRead, UnknownFormat)) as caught:
        open_transcript(path)
    told = str(caught.value)
    assert "\n" not in told
    return told


def test_no_file(tmp_path: Path) -> None:
    assert "there is no file" in sentence(tmp_path / "nothing")
    assert "not a valid file name" in sentence("a\0b")
    assert "cannot be read" in sentence(tmp_path / ("x" * 300))


def test_a_folder(tmp_path: Path) -> None:
    assert "is a folder" in sentence(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\n \r\n\n", bytes(5000), b"\xef\xbb\xbf"])
def test_nothing_in_it(tmp_path: Path, data: bytes) -> None:
    told = sentence(write(tmp_path, [data]))
    assert "is empty" in told or "only white space" in told


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gzip.compress(b"{}\n")[:9], "ends in the middle"),
        (gzip.compress(b"{}\n")[:10] + b"\xff" * 40, "is damaged"),
        (zstandard.compress(b"{}\n")[:6], "ends in the middle"),
        (zstandard.compress(b"{}\n")[:5] + b"\xff" * 40, "is damaged"),
    ],
    ids=["torn gzip", "damaged gzip", "torn zstd", "damaged zstd"],
)
def test_a_packed_file_that_gives_nothing_says_why(tmp_path: Path, data: bytes, why: str) -> None:
    assert why in sentence(write(tmp_path, [data]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in sentence(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    assert "is a pipe" in sentence(tmp_path / "link")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets here")
def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("here")
        assert "is a socket" in sentence("here")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_device() -> None:
    assert "is a device" in sentence("/dev/zero")


def test_links(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    (tmp_path / "link").symlink_to(tmp_path / "session.jsonl")
    assert len(open_transcript(tmp_path / "link").main.requests) == 4
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "cannot be read" in sentence(tmp_path / "loop")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read everything")
def test_not_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, LINES)
    path.chmod(0)
    assert "Permission denied" in sentence(path)


def test_reading_fails(tmp_path: Path) -> None:
    """A file of the kernel that looks regular but cannot be read from its beginning."""
    if not Path("/proc/self/mem").exists():
        pytest.skip("no such file here")
    assert "cannot be read" in sentence("/proc/self/mem")


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF" + os.urandom(200_000),
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 500,
        b"just a text\nof some lines\n" * 10_000,
        b"\x1f\x8b" + os.urandom(500),
        b"{" * 100_000,
        b"a,b,c\n1,2,3\n",
        b'{"hello": "world"}\n',
    ],
    ids=["program", "picture", "text", "no gzip", "braces", "table", "other JSON"],
)
def test_other_things_get_a_sentence(tmp_path: Path, data: bytes) -> None:
    assert sentence(write(tmp_path, [data]))


def test_a_torn_document(tmp_path: Path) -> None:
    assert "torn or damaged" in sentence(
        write(tmp_path, [b'{\n "model": "m",\n "messages": [\n  {\n'])
    )


def test_the_file_is_only_read(tmp_path: Path) -> None:
    path = write(tmp_path, LINES)
    path.chmod(0o444)
    before = path.stat()
    open_transcript(path)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == (before.st_mtime_ns, b"".join(LINES))
    assert os.listdir(tmp_path) == ["session.jsonl"]


BYTES = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from(
            [*LINES, b"\n", b"{", b"}", b"[", b"]\n", b"\0", b"\xef\xbb\xbf", b'"', b"\x1f\x8b"]
        )
    ).map(b"".join),
    st.builds(
        lambda data, at, what: data[:at] + what + data[at:],
        st.just(b"".join(LINES)),
        st.integers(0, 3000),
        st.binary(max_size=20),
    ),
)


@given(BYTES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_any_bytes_open_or_get_a_sentence(tmp_path: Path, data: bytes) -> None:
    try:
        session = open_transcript(write(tmp_path, [data]))
    except InspectorError:
        return
    assert all(
        len(request.view.messages()) == len(request.view) for request in session.main.requests
    )
    assert all(len(problem.excerpt) <= 200 for problem in session.problems)
