"""`context-inspector step FILE`: run one tier manually, or all due tiers, and print the result."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from inspector.agent.workspace import WorkspaceAnswerer
from inspector.cli.buffer import message_document, validity_document
from inspector.cli.output import listing, number, pairs, picked, plain, write_answer
from inspector.cli.select import (
    Selection,
    add_options,
    add_selection,
    chosen_pairs,
    chosen_policy,
    select,
)
from inspector.core.answering import (
    Answerer,
    AnswerLog,
    missing_files,
    missing_files_words,
    need_document,
    read_script,
)
from inspector.core.drops import thread_drops
from inspector.core.errors import InspectorError
from inspector.core.findings.recorded_step import (
    RecordedSizes,
    RecordedStep,
    recorded_sizes,
    recorded_step,
)
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.needs import Answer, Need, ReadFile, SaveText, SaveTranscript, drive
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.instructions import acting
from inspector.core.policies.place import PolicyChoice, context_at, settings_for
from inspector.core.policies.verdict import Verdict
from inspector.core.replay.costs import call_place
from inspector.core.replay.files import with_recorded_files
from inspector.core.replay.summary_calls import CallPlace
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.words import plural, priced_words
from inspector.providers.answerers import answerer
from inspector.transcripts.saving import NATIVE, SHAPES, buffer_text, save_text
from inspector.workbench.diff import sized_rows
from inspector.workbench.policy_input import recorded_tree
from inspector.workbench.regression import pytest_text
from inspector.workbench.steps import ORIGIN, RECORDED, Step, Steps, name_step
from inspector.workbench.steps_file import StepsSource, write_steps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.add_argument(
        "--tier", metavar="NAME", help="force this tier (default: run what is due, in order)"
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="run no tier: show what the recording itself did before this request",
    )
    parser.add_argument(
        "--before", action="store_true", help="start from the buffer before the recorded compaction"
    )
    _add_answers(parser)
    _add_files(parser)
    add_options(parser, "--force")


def _add_answers(parser: argparse.ArgumentParser) -> None:
    """Add the options for the tiers' input: settings, and answers to their needs."""
    add_options(parser, "--mode")
    parser.add_argument("--summary", metavar="TEXT", default="", help="the session memory for L2")
    parser.add_argument(
        "--instructions", metavar="TEXT", default="", help="what a manual compaction should keep"
    )
    add_options(parser, "--remote")
    parser.add_argument(
        "--answers",
        metavar="FILE",
        help="a JSON list of answers in order; the last one answers the model call",
    )
    add_options(parser, "--answerer", "--model")


def _add_files(parser: argparse.ArgumentParser) -> None:
    """Add the options for files that are read before the step and written after it."""
    parser.add_argument(
        "--state", metavar="FILE", help="start from this running state (see --save-state)"
    )
    parser.add_argument(
        "--save-state",
        metavar="FILE",
        help="write the running state afterwards; replaces an existing one",
    )
    parser.add_argument(
        "--samples", metavar="FILE", help="a JSON list of [estimated, reported] for the calibration"
    )
    parser.add_argument("--output", metavar="FILE", help="write the compacted buffer")
    parser.add_argument(
        "--as",
        dest="shape",
        choices=SHAPES,
        default=NATIVE,
        help="as a payload, or as a transcript that the agent can resume (default)",
    )
    parser.add_argument(
        "--save-steps",
        metavar="FILE",
        help="write the step, to be opened and replayed in the window",
    )
    parser.add_argument(
        "--export-pytest", metavar="FILE", help="write a test that repeats the step"
    )


@dataclass(frozen=True, slots=True)
class StepReport:
    """The result of the command: the workbench's tree with one step, and what is printed with it."""

    policy: Policy[Any, Any]
    steps: Steps
    step: Step
    verdicts: Sequence[Verdict]
    sizer: Sizer
    after: Sizer | None = None
    """The sizer for the buffer after a recorded step; None for a tier."""
    place: CallPlace | None = None
    """Gives the prices of a tier's model calls; None for a recorded step."""


def run(arguments: argparse.Namespace) -> None:
    """Take the step and print it. Raises InspectorError."""
    chosen = select(arguments)
    stepped = take_step(chosen, arguments)
    document = describe(stepped)
    for path, text in _files(chosen, stepped, document, arguments):
        force = arguments.force or path == arguments.save_state
        save_text(text, path, force, source=chosen.session.path)
    write_answer(document, arguments.json, step_lines)


def _files(
    chosen: Selection, stepped: StepReport, document: dict[str, Any], arguments: argparse.Namespace
) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each file to write."""
    source = StepsSource(
        str(Path(chosen.session.path).absolute()), chosen.session.id, chosen.session.format
    )
    if arguments.output:
        model = chosen.thread.model
        yield (
            arguments.output,
            buffer_text(stepped.step.buffer, arguments.shape, chosen.session.format, model),
        )
    if arguments.save_state:
        yield arguments.save_state, f"{dumps(document['state'])}\n"
    if arguments.save_steps:
        yield arguments.save_steps, f"{dumps(write_steps(stepped.steps, source))}\n"
    if arguments.export_pytest:
        yield arguments.export_pytest, pytest_text(stepped.steps, source)


def take_step(chosen: Selection, arguments: argparse.Namespace) -> StepReport:
    """Run the named tier, or all due tiers, and return the result."""
    policy = chosen_policy(arguments)
    window = chosen.window(arguments.window)
    client = chosen.session.client
    choice = _policy_choice(arguments, policy)
    pressures = known_pressures(chosen.thread)
    size = sizer(pressures, chosen.at)
    tree: Steps | None = None
    if arguments.recorded or arguments.before:
        change, sizes = _find_recorded_change(chosen)
        settings = settings_for(policy, pairs=choice.settings, window=window, client=client)
        tree = recorded_tree(chosen.thread, chosen.request, policy, settings, change)
        if arguments.recorded:
            return StepReport(
                policy,
                steps=tree,
                step=tree.taken[RECORDED],
                verdicts=(),
                sizer=sizes.before,
                after=sizes.after,
            )
        size = sizes.before
        place = _place_of(chosen, pressures, size)
        chosen = replace(chosen, thread=change.thread)
    else:
        place = _place_of(chosen, pressures)
    tier: str = arguments.tier or ""
    context = context_at(policy, choice, chosen.thread, chosen.at, window, client, tier)
    context = _with_files(policy, context, arguments)
    policy = acting(policy, context)
    verdicts = policy.due(context)
    step = _run(policy, context, tier, AnswerLog(_answerer(chosen, arguments)))
    if tree is None:
        tree = Steps(
            chosen.thread.id,
            chosen.request,
            policy=policy.reference,
            origin=context.buffer,
            running=context.running,
        )
    steps = replace(tree.go(ORIGIN), running=context.running).add(step)
    return StepReport(policy, steps, step, verdicts, sizer=size, place=place)


def _policy_choice(arguments: argparse.Namespace, policy: Policy[Any, Any]) -> PolicyChoice:
    return PolicyChoice(
        chosen_pairs(arguments, policy),
        arguments.remote,
        arguments.summary,
        instructions=arguments.instructions,
    )


def _place_of(chosen: Selection, pressures: Pressures, size: Sizer | None = None) -> CallPlace:
    side_calls = chosen.session.side_calls
    return call_place(chosen.thread, side_calls, chosen.at, pressures, size)


def _run(
    policy: Policy[Any, Any], context: PolicyContext[Any, Any], tier: str, log: AnswerLog
) -> Step:
    """Run the named tier, or all due tiers if `tier` is empty, and return the step."""
    outcomes: tuple[Outcome[Any], ...]
    if tier:
        outcomes = (drive(policy.tier(tier, context), log),)
    else:
        outcomes = drive(policy.run_due(context), log)
    name = name_step(tier, outcomes)
    asked = tuple(log.asked)
    return Step(
        name,
        tier,
        parent=ORIGIN,
        settings=context.settings,
        moment=context.moment,
        outcomes=outcomes,
        asked=asked,
    )


def _find_recorded_change(chosen: Selection) -> tuple[RecordedStep, RecordedSizes]:
    """Return what the recording did before the selected request. Raises InspectorError."""
    thread = chosen.thread
    change = recorded_step(thread, thread_drops(thread, chosen.session), chosen.at)
    if change is None:
        place = "the end" if chosen.is_end else f"request {chosen.at}"
        raise InspectorError(
            f"The recording compacted and dropped nothing before {place}; info lists where it did."
        )
    return change, recorded_sizes(change, thread, known_pressures(thread))


def _with_files(
    policy: Policy[Any, Any], context: PolicyContext[Any, Any], arguments: argparse.Namespace
) -> PolicyContext[Any, Any]:
    """Return the context with the running state of --state and the calibration of --samples."""
    running = context.running
    if arguments.state:
        running = policy.load(context.settings, _json_file(arguments.state))
    for estimated, reported in _read_samples(arguments.samples) if arguments.samples else ():
        running = policy.learn(running, context.settings, estimated, reported)
    return context.with_running(running)


def _read_samples(path: str) -> list[tuple[int, int]]:
    try:
        return [(int(estimated), int(reported)) for estimated, reported in _json_file(path)]
    except (TypeError, ValueError):
        raise InspectorError(
            f"{path} must hold a JSON list of [estimated, reported] pairs."
        ) from None


def _answerer(chosen: Selection, arguments: argparse.Namespace) -> Answerer:
    """Return the selected script or answerer. File contents come from the recording, never from this machine."""
    if not arguments.answers:
        chosen_answerer = answerer(
            arguments.answerer, arguments.model or chosen.thread.model, chosen.buffer.prompt
        )
        return with_recorded_files(
            WorkspaceAnswerer(chosen_answerer, root=None), chosen.thread, chosen.at
        )
    script = read_script(_json_file(arguments.answers))
    hands = with_recorded_files(WorkspaceAnswerer(script, root=None), chosen.thread, chosen.at)

    def in_order(need: Need) -> Answer:
        """Answer from the script. Its last answer is kept for the model; then files are served from the recording."""
        is_about_files = isinstance(need, ReadFile | SaveTranscript | SaveText)
        return hands(need) if is_about_files and script.left < 2 else script(need)

    return in_order


def _json_file(path: str) -> Any:
    try:
        return loads(Path(path).read_bytes())
    except NotJson as why:
        raise InspectorError(f"{path} is not JSON: {why}.") from None


def describe(stepped: StepReport) -> dict[str, Any]:
    """Return the document of cli.md's `step`."""
    policy = stepped.policy
    steps = stepped.steps
    step = stepped.step
    size = stepped.after or stepped.sizer
    start = PolicyContext(steps.origin, step.settings, steps.running, step.moment)
    before = start.buffer
    after = step.buffer
    size_before = {"messages": len(before.messages), **_size_document(stepped, start)}
    if steps.recorded:
        size_before["listed"] = stepped.sizer.pressure.tokens
    size_after = _size_document(stepped, start.after(*step.outcomes))
    rows = sized_rows(steps.fates(), before, after, size=stepped.sizer, later=stepped.after)
    _, missing_paths = missing_files(step.asked)
    last_tier = step.fired[-1] if step.fired else None
    return {
        "policy": policy.name if step.recorded is None else "recorded",
        "tier": step.tier or last_tier,
        "settings": {
            field.name: getattr(step.settings, field.name) for field in fields(step.settings)
        },
        "verdicts": [asdict(verdict) for verdict in stepped.verdicts],
        "fired": list(step.fired),
        "succeeded": step.succeeded,
        "error": step.error or None,
        "before": size_before,
        "after": {
            "messages": [message_document(message, size) for message in after.messages],
            **size_after,
        },
        "fates": [
            picked(row, "id=fate.id fate=fate.name tokens_before tokens_after") for row in rows
        ],
        "events": [{"name": event.name, **event.fields} for event in step.events],
        "needs": [need_document(need) for need in step.asked],
        "missing_files": missing_paths,
        "missing_files_note": missing_files_words(step.asked),
        "model_calls": _calls_document(stepped),
        "state": policy.dump(step.running),
        "validity": validity_document(after),
    }


def _calls_document(stepped: StepReport) -> dict[str, Any] | None:
    """Return usage and cost of the step's model calls, as in the window's preview and a replay; None if there are
    none.
    """
    if stepped.place is None:
        return None
    calls = stepped.place.price(stepped.step.asked, stepped.steps.origin.prompt)
    if not calls.together.count:
        return None
    usage = calls.together.usage
    return {
        "count": calls.together.count,
        "input": usage.prompt,
        "cache_read": usage.cache_read,
        "output": usage.output,
        "most_output": calls.together.most_output,
        **picked(calls, "cost_usd=cost:6 most_cost_usd=most_cost:6"),
        "expected_output": stepped.place.expected.tokens,
        "expected_from": stepped.place.expected.source,
    }


def _size_document(stepped: StepReport, context: PolicyContext[Any, Any]) -> dict[str, Any]:
    """Return the policy's uncalibrated estimate and own count of a buffer, and the size of the prompt if it were
    sent.
    """
    policy = acting(stepped.policy, context)
    buffer = context.buffer
    size = stepped.sizer
    pressure = size.pressure_beside(buffer, stepped.steps.origin)
    if stepped.after is not None and buffer is stepped.step.buffer:
        size = stepped.after
        pressure = stepped.after.pressure
    tokens, *_ = policy.measure(context)
    sizes = {"tokens": tokens, "calibrated": policy.believed(context)}
    return {**sizes, **picked(pressure, "predicted=tokens kind band"), "unseen": size.scale.unseen}


def step_lines(document: dict[str, Any]) -> list[str]:
    """Return the document as text."""
    before = document["before"]
    after = document["after"]
    succeeded = "yes"
    if not document["succeeded"]:
        succeeded = f"no: {document['error'] or 'nothing to compact'}"
    rows = [
        ("policy", document["policy"]),
        ("fired", ", ".join(document["fired"]) or "nothing"),
        ("succeeded", succeeded),
        ("before", step_size_words(before["messages"], before, document["policy"])),
        ("after", step_size_words(len(after["messages"]), after, document["policy"])),
    ]
    if document["model_calls"] is not None:
        rows.append(("model calls", step_call_words(document["model_calls"])))
    if document["missing_files_note"]:
        rows.append(("files", plain(document["missing_files_note"])))
    due = ("due", lambda verdict: "due" if verdict["due"] else "")
    lines = [*pairs(rows), "", *listing(document["verdicts"], "tier", due, "why"), ""]
    lines += listing(
        document["fates"], "fate", ">tokens_before=before", ">tokens_after=after", "id/60=message"
    )
    lines.append("")
    for event in document["events"]:
        fields = (f" {key}={value}" for key, value in event.items() if key != "name")
        lines.append("".join((event["name"], *fields)))
    lines += [f"invalid: {plain(problem['why'])}" for problem in document["validity"]]
    return lines


def step_call_words(calls: dict[str, Any]) -> str:
    """Return the model calls in words.

    `1: 152,300 tokens in, 151,900 of them cached; about 2,600 out (at most 20,000); about $0.12`
    """
    limit = "no limit"
    if calls["most_output"] is not None:
        limit = f"at most {number(calls['most_output'])}"
    words = f"{calls['count']}: {number(calls['input'])} tokens in, {number(calls['cache_read'])} of them cached; "
    words += f"about {number(calls['output'])} out ({limit})"
    if calls["cost_usd"] is not None:
        words += f"; {priced_words(calls['cost_usd'], calls['most_cost_usd'])}"
    return words


def step_size_words(messages: int, side: dict[str, Any], policy: str) -> str:
    """Return a size in words: `13 messages, 41,200 tokens predicted (40,100 to 42,300); roku's own count 40,950`."""
    tokens = plural(side["predicted"] or 0, "token")
    size = f"{plural(messages, 'message')}, {tokens} {side['kind']}"
    if side["band"]:
        low, high = side["band"]
        size += f" ({number(low)} to {number(high)})"
    return f"{size}; {policy}'s own count {number(side['calibrated'])}"
