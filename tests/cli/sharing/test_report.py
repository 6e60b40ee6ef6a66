"""The report: what it says, that it loads nothing, and that nothing private leaves without a review."""

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from inspector.__main__ import main
from inspector.resources import resource
from inspector.workbench.sharing.redaction import PrivateText, PrivateTexts, Redaction

SAMPLE = resource("sample.jsonl")
KEY = "sk-ant-api03-" + "Ab3dEf6hIj9k" * 4


class Loads(HTMLParser):
    """Collects what a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe", "object", "a"):
            self.loaded.append(tag)
        self.loaded += [
            name for name, _ in attrs if name in ("src", "href") or name.startswith("on")
        ]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """The sample, whose first message holds a key, an address, a path of somebody's home and HTML."""
    path = tmp_path / "s.jsonl"
    private = f"mail jane.doe@example.org, key {KEY}, file /home/janedoe/x.py, ask janedoe. <script>alert(1)</script> "
    path.write_text(SAMPLE.read_text("utf-8").replace("Morning! ", private, 1), "utf-8")
    return path


def first_message(transcript: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["buffer", str(transcript), "--at", "0", "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["messages"][0]["id"])


def test_report_without_a_review_is_not_written_and_lists_what_is_private(
    transcript: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "r.html"
    words = [
        "report",
        str(transcript),
        "-o",
        str(output),
        "--message",
        first_message(transcript, capsys),
    ]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert not output.exists()
    assert "jane.doe@example.org" in out
    assert "janedoe" in out
    assert KEY not in out
    assert "--redact all" in err

    assert main([*words, "--redact", "all"]) == 0
    page = output.read_text("utf-8")
    for private in (KEY, "jane.doe", "janedoe", "<script>"):
        assert private not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "Request 78 was the fullest: 152,241 tokens" in page
    assert "Lost by the compaction before request 79" in page
    loads = Loads()
    loads.feed(page)
    assert loads.loaded == []
    drawing = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    (line,) = (shape for shape in drawing if shape.tag == "polyline")
    assert len(line.attrib["points"].split()) == 132
    capsys.readouterr()
    assert main([*words, "--redact", "all"]) == 1
    assert "--force" in capsys.readouterr().err


def find_private(*texts: str) -> tuple[PrivateText, ...]:
    private = PrivateTexts()
    for number, text in enumerate(texts):
        private.add_text(f"text {number}", text)
    return private.found


def test_redaction_replaces_a_user_name_as_a_word_only() -> None:
    found = find_private(
        "/Users/anna/work", "anna banana", "git@example.com:x", "/home/user/a", "/Users/anna"
    )
    assert [(one.kind, one.text, one.times, one.place) for one in found] == [
        ("home folder", "anna", 2, "text 0"),
        ("e-mail", "git@example.com", 1, "text 2"),
    ]
    redaction = Redaction(found)
    assert (
        redaction.replace("/Users/anna/work by anna, banana")
        == "/Users/(home folder)/work by (home folder), banana"
    )
    assert Redaction(find_private("nothing here")).replace("nothing here") == "nothing here"
    dev = Redaction(find_private("/home/dev/a"))
    assert dev.replace("/home/dev/a >/dev/null") == "/home/(home folder)/a >/dev/null"


def test_redaction_keeps_what_the_user_unticked_and_writes_what_they_chose() -> None:
    found = find_private("/home/anna/x", "bob@example.org", "@pytest.mark.skip +@pytest.fixture.x")
    assert [one.text for one in found] == ["anna", "bob@example.org"]
    chosen = Redaction(found[:1], {"anna": 'x"\\y'})
    assert chosen.replace("/home/anna/x, bob@example.org") == "/home/xy/x, bob@example.org"
    value = {"anna": [1, None, {"path": "-home-anna-x"}]}
    assert chosen.replace_in_value(value) == {"xy": [1, None, {"path": "-home-xy-x"}]}
