"""What fills a buffer: sums that are exact on every real transcript, and names as clients spell them."""

import sys

import pytest

from inspector.cli.select import Selection
from inspector.core.buffer import Buffer, Prompt, Stretch, Tool
from inspector.core.calls import subject_of
from inspector.core.findings.breakdown import (
    Breakdown,
    BreakdownNode,
    break_down,
    forget,
    server_of,
    tool_calls,
)
from inspector.core.findings.composition import sized, split_prompt_text
from inspector.core.message import Image, Json, Message, Text, ToolCall, ToolResult
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.estimators import ESTIMATORS, estimator, prompt_tokens
from inspector.core.tokens.families import family_of
from inspector.core.tokens.prediction import prior
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.usage import Usage


def looked_at(
    session: Session, thread: Thread, at: int, by: str = "roku"
) -> tuple[Breakdown, dict[str, int]]:
    """The breakdown, and what the gauge says."""
    size, buffer = (
        sizer(known_pressures(thread, estimator(by) if by else None), at),
        Selection(session, thread, at).buffer,
    )
    found = break_down(size, size.pressure, buffer, tool_calls(session, thread))
    assert found.tree.tokens == (size.pressure.tokens or 0)
    return found, {
        str(name): tokens
        for name, tokens in sized(size, size.pressure, buffer.messages, buffer.prompt)
    }


def check_sums(tree: BreakdownNode, messages: int) -> None:
    for _, node in tree.walk():
        assert node.tokens >= 0 or node.name in ("buffer", "difference")
        assert all(0 <= at < messages for at in node.messages)
        if node.children:
            assert sum(child.tokens for child in node.children) == node.tokens
            assert {at for child in node.children for at in child.messages} <= set(node.messages)


def made(
    messages: list[Message], prompt: Prompt, tokens: int = 50_000, format_: str = "x"
) -> tuple[Session, Thread]:
    stretch = Stretch(own=messages)
    request = Request(
        0, stretch.view(), prompt=prompt, usage=Usage(input=tokens), model="claude-opus-4-5"
    )
    thread = Thread(
        "main", requests=(request,), messages=messages, end=stretch.view(), prompt=prompt
    )
    return Session(format_, (thread,)), thread


def asked(n: int, name: str, arguments: Json, result: str, *more: Image) -> list[Message]:
    call = ToolCall(f"c{n}", name, arguments)
    return [
        Message(f"a{n}", "assistant", (call,)),
        Message(f"r{n}", "tool", (ToolResult(f"c{n}", result), *more)),
    ]


NAMES = ("Read", "mcp__github__search", "mcp__github__get_issue", "mcp__linear__create")
TOOLS = tuple(
    Tool(name, {"name": name, "description": "what it is good for " * n})
    for n, name in enumerate(NAMES, 1)
)
SYSTEM = "You are an agent. " * 40 + "\nInstructions from: /p/AGENTS.md\nBe kind."
MIXED = [
    Message("u", "user", (Text("<system-reminder>\nContents of /p/CLAUDE.md (project instructions):\n\nBe brief.\n"
                               "# currentDate\nToday.\n</system-reminder>\nFind the bug."),)),
    *asked(1, "Read", {"file_path": "/p/a.py"}, "x = 1\n" * 500),
    *asked(2, "Read", {"file_path": "/p/b.py"}, "y = 2\n" * 50),
    *asked(3, "Read", {"file_path": "/p/a.py"}, "x = 1\n" * 500),
    *asked(4, "mcp__github__search", {"query": "is:open"}, "issue\n" * 90, Image("image/png", "aGk=" * 2000)),
    *asked(5, "Bash", {"command": "git status"}, "clean\n" * 9),
    Message("s", "user", (Text("Base directory for this skill: /p/skills/review\n\n# Review"),), mark="meta"),
]  # fmt: skip


def child(node: BreakdownNode, *names: str) -> BreakdownNode:
    for name in names:
        (node,) = (one for one in node.children if one.name == name)
    return node


@pytest.mark.parametrize("by", [name for name in ESTIMATORS if not name.startswith("tiktoken")])
def test_the_levels_of_the_tree(by: str) -> None:
    session, thread = made(MIXED, Prompt(SYSTEM, TOOLS))
    found, gauge = looked_at(session, thread, 0, by)
    check_sums(found.tree, len(MIXED))
    assert {one.name: one.tokens for one in found.tree.children if one.name != "unseen"} == gauge
    results = child(found.tree, "tool results")
    assert (child(results, "Read").calls, child(results, "Read").messages) == (3, (2, 4, 6))
    assert [one.name for one in child(results, "Read", "/p/a.py").children] == [
        "message 2",
        "message 6",
    ]
    assert child(results, "github", "mcp__github__search", "is:open").messages == (8,)
    assert child(results, "Bash", "git status").kind == "file"
    if "images" in gauge:  # Roku's rule counts none
        assert child(found.tree, "images", "github", "mcp__github__search").messages == (8,)
    assert {one.name for one in child(found.tree, "memory files").children} == {
        "/p/CLAUDE.md",
        "/p/AGENTS.md",
    }
    assert child(found.tree, "skills", "/p/skills/review").messages == (len(MIXED) - 1,)
    assert child(found.tree, "user").messages == (0,)
    schemas = {one.name: one for one in found.tools}
    assert (schemas["mcp__linear__create"].server, schemas["mcp__linear__create"].calls) == (
        "linear",
        0,
    )
    assert sum(one.schema_tokens or 0 for one in found.tools) == child(found.tree, "tools").tokens
    assert (
        schemas["Bash"].schema_tokens,
        schemas["Read"].calls,
        schemas["Read"].calls_in_buffer,
    ) == (None, 3, 3)


def test_a_result_whose_call_has_left_keeps_its_name() -> None:
    session, thread = made(MIXED, Prompt())
    size = sizer(known_pressures(thread), 0)
    left = Buffer(tuple(message for message in MIXED if message.role != "assistant"))
    tree = break_down(size, size.pressure_of(left), left, tool_calls(session, thread)).tree
    assert child(tree, "tool results", "Read", "/p/a.py").tokens > 0
    assert tree.tokens == size.pressure_of(left).tokens


@pytest.mark.parametrize(
    ("tool", "client", "server"),
    [
        ("mcp__github__search_issues", "claude-code", "github"),
        ("mcp__claude_ai_Google_Drive__read_file", "claude-code", "claude_ai_Google_Drive"),
        ("mcp__deepwiki", "codex", "deepwiki"),
        ("mcp_linear-server_create_issue", "gemini-cli", "linear-server"),
        ("developer__shell", "x", "developer"),
        ("context7_get-library-docs", "opencode", "context7"),
        ("apply_patch", "opencode", ""),
        ("apply_patch", "codex", ""),
        ("Read", "claude-code", ""),
        ("__init__", "x", ""),
    ],
)
def test_servers_as_clients_spell_them(tool: str, client: str, server: str) -> None:
    assert server_of(tool, client) == server
    assert (
        server_of("use_mcp_tool", client, {"server_name": "github", "tool_name": "x"}) == "github"
    )


def test_what_a_call_is_about() -> None:
    assert (
        subject_of(ToolCall("c", "shell", {"command": ["bash", "-lc", "rg  -n\nfoo"]}))
        == "rg -n foo"
    )
    assert (
        subject_of(ToolCall("c", "apply_patch", "*** Begin Patch\n*** Update File: a/b.py\n@@"))
        == "a/b.py"
    )
    assert (
        subject_of(ToolCall("c", "apply_patch", {"input": "*** Begin Patch\n*** Add File: c.py\n"}))
        == "c.py"
    )
    assert (
        subject_of(ToolCall("c", "Grep", {"pattern": "def x", "output_mode": "content"})) == "def x"
    )
    assert subject_of(ToolCall("c", "wait", {"n": 3})) == ""


CLIENTS = [
    (
        "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>\n",
        "memory files",
        "/p/AGENTS.md",
    ),
    (
        "--- Context from: GEMINI.md ---\nBe kind.\n--- End of Context from: GEMINI.md ---",
        "memory files",
        "GEMINI.md",
    ),
    (
        '<project_instructions path="/p/AGENTS.md">\nBe kind.\n</project_instructions>\n',
        "memory files",
        "/p/AGENTS.md",
    ),
    (
        "<available_skills>\n<skill>\n<name>x</name>\n</skill>\n</available_skills>\n",
        "skills",
        "list of skills",
    ),
    ("<skill>\n<name>deploy</name>\nDo it.\n</skill>", "skills", "deploy"),
]


@pytest.mark.parametrize(("text", "category", "label"), CLIENTS)
def test_what_clients_write_into_a_prompt(text: str, category: str, label: str) -> None:
    whole = f"You are an agent.\n{text}\nThe end."
    found = split_prompt_text(whole, by_client=True, system=True)
    assert "".join(one.text for one in found) == whole
    assert [(one.category, one.label) for one in found if one.label] == [(category, label)]
    assert found[0].category == "system"


def test_what_ended_in_the_background_is_not_the_users_whatever_it_reports() -> None:
    name = 'Agent "Map it" finished'
    report = f"<task-notification>\n<summary>{name}</summary>\n<result>Contents of CLAUDE.md:\n...</result>"
    for by_client in (False, True):
        (found,) = split_prompt_text(report, by_client=by_client)
        assert (found.category, found.label, found.text) == ("reminders", name, report)
    assert split_prompt_text(f"What is a {report}?", by_client=False)[0].category == "user"


def test_what_a_user_says_of_memory_files_is_the_users() -> None:
    said = "Contents of /p/CLAUDE.md:\nare wrong. Instructions from: nobody. <available_skills>"
    assert [one.category for one in split_prompt_text(said, by_client=False)] == ["user"]
    assert [one.category for one in split_prompt_text("", by_client=False)] == ["user"]


@pytest.mark.parametrize("by", ["roku", "chars4", "tiktoken"])
def test_nothing_is_unseen_where_the_transcript_holds_all(by: str) -> None:
    tools = tuple(
        Tool(name, {"name": name, "description": "what it is good for " * 40}) for name in NAMES
    )
    for prompt in (Prompt(SYSTEM, tools), Prompt(SYSTEM, ())):
        session, thread = made(MIXED, prompt)
        counted = sizer(known_pressures(thread, estimator(by)), 0).counted(MIXED, prompt)
        # For what it writes around tools.
        told = round(counted * prior(by, "claude-opus-4-5")) + 300
        session, thread = made(MIXED, prompt, told)
        found, gauge = looked_at(session, thread, 0, by)
        check_sums(found.tree, len(MIXED))
        assert "unseen" not in {one.name for one in found.tree.children}
        assert sum(gauge.values()) == found.tree.tokens == told


def test_breakdown_when_provider_counts_schemas_shorter_shows_the_difference_as_its_own_line() -> (
    None
):
    prompt = Prompt(SYSTEM, TOOLS * 20)
    size = sizer(known_pressures(made(MIXED, prompt)[1]), 0)
    factor, tools = family_of("claude-opus-4-5").factor, prompt_tokens(size.estimator, prompt)[1]
    told = round(factor * (size.counted(MIXED, prompt) - 0.5 * tools))
    _, gauge = looked_at(*made(MIXED, prompt, told), 0, "")
    assert sum(gauge.values()) == told
    assert gauge["tools"] == pytest.approx(factor * tools, abs=2)
    assert gauge["difference"] == pytest.approx(-0.5 * factor * tools, abs=3)


def test_a_transcript_that_holds_less_than_it_seems_to_has_an_unseen_part() -> None:
    for prompt in (
        Prompt(SYSTEM, TOOLS),
        Prompt(SYSTEM, ()),
        Prompt(SYSTEM, None),
        Prompt(None, TOOLS),
    ):
        session, thread = made(MIXED, prompt, 80_000)
        found, gauge = looked_at(session, thread, 0, "chars4")
        unseen = child(found.tree, "unseen").tokens
        assert unseen > 40_000
        assert sum(gauge.values()) + unseen == 80_000


def test_requests_that_grow_by_less_than_they_hold() -> None:
    """A provider that reports next to nothing for what was added: from the first request, all lies beside it."""
    messages = tuple(
        Message(f"m{n}", "user", (Text(f"line {n} of the file " * 9 if n else "Read it."),))
        for n in range(40)
    )
    stretch = Stretch(own=messages)
    requests = tuple(
        Request(n, stretch.view(n + 1), usage=Usage(900 + n, output=1)) for n in range(40)
    )
    thread = Thread("main", requests=requests, messages=messages, end=stretch.view())
    session = Session("x", (thread,), path="s")
    for at in range(40):
        found, gauge = looked_at(session, thread, at)
        check_sums(found.tree, at + 1)
        assert sum(one.tokens for one in found.tree.children) == found.tree.tokens == 900 + at
        assert sum(gauge.values()) <= 900 + at


def test_a_tree_is_forgotten_node_by_node() -> None:
    leaf = BreakdownNode("leaf", "text", 1)
    held = sys.getrefcount(leaf)
    trees = [
        BreakdownNode(
            "root", "buffer", 2, children=(leaf, BreakdownNode("file", "file", 1, children=(leaf,)))
        )
    ]
    assert sys.getrefcount(leaf) == held + 2
    forget(trees)
    assert not trees
    assert sys.getrefcount(leaf) == held
