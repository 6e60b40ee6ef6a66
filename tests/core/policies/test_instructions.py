"""Instructions among the messages stay where they stood, whatever a policy does to the rest."""

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import offline
from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, Role, Text
from inspector.core.needs import drive
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.instructions import acting, with_instructions, without_instructions
from inspector.core.policies.roku import POLICY as ROKU
from inspector.core.policies.verdict import PolicyInput
from inspector.proxy.holds.compacting import has_turn
from tests.core.formats.recordings import Recording, body, read, text, user
from tests.core.formats.recordings import said as reply_of


def said(id_: str, role: Role = "user", text: str = "") -> Message:
    return Message(id_, role, (Text(text or f"words of {id_}"),))


RULES = said("rules", "system", "Never leave the folder.")
AGENTS = said("agents", "user", "# AGENTS.md instructions for /x\n\nUse tabs.")
REMINDER = said(
    "reminder", "user", "<system-reminder>\nThe rules of the house.\n</system-reminder>"
)
LATE = said("late", "system", "The model was changed.")
CODEX = Buffer(
    (
        RULES,
        AGENTS,
        REMINDER,
        said("task"),
        said("a", "assistant"),
        said("b"),
        LATE,
        said("c", "assistant"),
        said("d"),
    ),
    Prompt("You are an agent."),
)
SUMMARY = Message("s", "user", (Text("In short."),), summary=True)


def ids(buffer: Buffer) -> list[str]:
    return [message.id for message in buffer.messages]


def test_a_policy_reads_them_as_part_of_the_prompt() -> None:
    given_ = without_instructions(CODEX)
    assert ids(given_) == ["task", "a", "b", "c", "d"]
    assert given_.prompt.system is not None
    for words in (
        "You are an agent.",
        "Never leave",
        "Use tabs",
        "The rules of the house",
        "The model was changed",
    ):
        assert words in given_.prompt.system


def test_they_stand_where_they_stood() -> None:
    given_ = without_instructions(CODEX)
    assert with_instructions(CODEX, given_) == CODEX
    one, *_, last = given_.messages
    assert ids(with_instructions(CODEX, given_.with_messages([SUMMARY, last]))) == [
        "rules", "agents", "reminder", "s", "late", "d",
    ]  # fmt: skip
    assert ids(with_instructions(CODEX, given_.with_messages([one, SUMMARY, last]))) == [
        "rules", "agents", "reminder", "task", "late", "s", "d",
    ]  # fmt: skip


def test_what_the_client_says_later_in_passing_is_no_instruction() -> None:
    later = Buffer((said("task"), said("a", "assistant"), REMINDER, AGENTS))
    assert without_instructions(later) is later


def test_a_conversation_that_the_user_begins_is_not_begun_by_an_instruction() -> None:
    """Claude Code lays its system item behind the prompt; the prompt goes, the item follows the summary."""
    buffer = Buffer((said("task"), RULES, said("a", "assistant"), said("b")))
    after = with_instructions(
        buffer, without_instructions(buffer).with_messages([SUMMARY, said("b")])
    )
    assert ids(after) == ["s", "rules", "b"]


def test_there_is_a_turn_once_the_model_has_answered() -> None:
    assert not has_turn(Buffer((RULES, said("task"))))
    assert has_turn(CODEX)


@given(st.lists(st.sampled_from(["system", "user", "assistant"]), max_size=12), st.data())
def test_every_instruction_stays_in_order(roles: list[Role], data: st.DataObject) -> None:
    buffer = Buffer(tuple(said(str(n), role) for n, role in enumerate(roles)))
    given_ = without_instructions(buffer)
    kept = [message for message in given_.messages if data.draw(st.booleans())]
    made = data.draw(st.sampled_from([[], [SUMMARY]]))
    after = with_instructions(buffer, given_.with_messages([*made, *kept]))
    assert [one.id for one in after.messages if one.role == "system"] == ids(
        Buffer(tuple(one for one in buffer.messages if one.role == "system"))
    )
    assert [one for one in after.messages if one.role != "system"] == [*made, *kept]
    assert after.prompt == buffer.prompt


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_policy_that_acts_on_a_forwarded_buffer_leaves_the_instructions_where_they_are(
    name: str,
) -> None:
    turns = [said(f"{n}", "user" if n % 2 else "assistant", "word " * 400) for n in range(20)]
    buffer = Buffer((*CODEX.messages, *turns), CODEX.prompt)
    policy = POLICIES[name]
    settings = policy.settings([("window", "3000")], 3_000)
    forwarded = PolicyContext(
        buffer, settings, policy.fresh(settings), PolicyInput(keeps_instructions=True)
    )
    kept = acting(policy, forwarded)
    for tier in policy.tiers:
        outcome = drive(kept.tier(tier.name, forwarded), offline)
        front = takewhile(
            lambda message: message.id != "task" and not message.summary, outcome.buffer.messages
        )
        assert [message.id for message in front][:3] == ["rules", "agents", "reminder"]
        assert "late" in ids(outcome.buffer)
    for done in drive(kept.run_due(forwarded), offline):
        assert {"rules", "agents", "reminder", "late"} <= set(ids(done.buffer))


def test_count_of_a_harness_that_counts_its_prompt_is_that_of_the_whole_buffer() -> None:
    settings = ROKU.settings()
    forwarded = PolicyContext(
        CODEX, settings, ROKU.fresh(settings), PolicyInput(keeps_instructions=True)
    )
    assert acting(ROKU, forwarded).believed(forwarded) == ROKU.believed(forwarded)


def test_policy_of_any_other_buffer_acts_as_it_is() -> None:
    assert acting(ROKU, PolicyContext(CODEX, ROKU.settings(), None)) is ROKU


def test_recording_of_the_proxy_alone_keeps_instructions() -> None:
    recording = Recording()
    recording.reply(recording.ask(body([user("Go.")])), reply_of(text("Done.")))
    assert recording.session().main.keeps_instructions
    assert not read(
        recording.records[1:]
    ).main.keeps_instructions  # requests of somebody else's log
