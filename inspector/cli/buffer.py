"""`context-inspector buffer FILE`: the buffer of one request, message by message."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from inspector.cli.output import (
    CellColumn,
    listing,
    number,
    pairs,
    picked,
    plain,
    ratio,
    write_answer,
)
from inspector.cli.select import Selection, add_selection, chosen_policy, policy_count, select
from inspector.core.buffer import Buffer
from inspector.core.dialects.neutral import write_part
from inspector.core.findings.composition import sized
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import SettingPairs
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.validity import find_refusals
from inspector.core.words import per_cent

add_arguments = add_selection


def run(arguments: argparse.Namespace) -> None:
    """Print the buffer. Raises InspectorError."""
    policy = chosen_policy(arguments)
    chosen = select(arguments)
    document = describe(chosen, arguments.window, policy, tuple(arguments.set or ()))
    write_answer(document, arguments.json, _lines)


def describe(
    chosen: Selection,
    window: int | None = None,
    policy: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
    pairs: SettingPairs = (),
) -> dict[str, Any]:
    """Return the document of cli.md's `buffer`.

    Args:
        chosen: The session, thread and request.
        window: The user's window in tokens; None uses the model's.
        policy: The policy whose own count is shown.
        pairs: Settings; those that the policy has are used.
    """
    buffer = chosen.buffer
    size = sizer(known_pressures(chosen.thread), chosen.at)
    tools = buffer.prompt.tools
    definitions = None if tools is None else [tool.definition for tool in tools]
    return {
        "thread": chosen.thread.id,
        "request": "end" if chosen.is_end else chosen.at,
        "system": buffer.prompt.system,
        "tools": definitions,
        "policy": policy.name,
        "pressure": _pressure(chosen, size, window, policy, pairs),
        "messages": [message_document(message, size) for message in buffer.messages],
        "validity": validity_document(buffer),
    }


def _pressure(
    chosen: Selection,
    size: Sizer,
    user_window: int | None,
    policy: Policy[Any, Any],
    pairs: SettingPairs,
) -> dict[str, Any]:
    pressure = size.pressure
    scale = size.scale
    window = chosen.window(user_window)
    return {
        **picked(pressure, "tokens kind"),
        **picked(
            known_counts(chosen.thread, estimator(DEFAULT_ESTIMATOR)).at(chosen.at),
            "estimated calibrated",
        ),
        "reported": pressure.reported,
        "believed": policy_count(policy, pairs, chosen.session, chosen.thread, chosen.at, window),
        "window": window.tokens,
        "window_source": window.source,
        "ratio": ratio(pressure.tokens, window.tokens),
        "band": pressure.band,
        "unseen": scale.unseen,
        "not_in_file": scale.unseen if pressure.kind in ("reported", "predicted") else None,
        "categories": dict(
            sized(size, pressure, view=chosen.buffer.messages, prompt=chosen.buffer.prompt)
        ),
    }


def message_document(message: Message, size: Sizer) -> dict[str, Any]:
    """Return a message as a document, with its tokens by the given sizer."""
    return {
        **picked(message, "id role"),
        "tokens": size.row(message),
        **picked(message, "summary mark together line time"),
        "parts": [write_part(part) for part in message.parts],
    }


def validity_document(buffer: Buffer) -> list[dict[str, Any]]:
    """Return the reasons why a provider would refuse the buffer."""
    return [asdict(problem) for problem in find_refusals(buffer)]


def _lines(document: dict[str, Any]) -> list[str]:
    messages = [{"n": index, **message} for index, message in enumerate(document["messages"])]
    columns: tuple[CellColumn, ...] = (
        (">#", lambda message: str(message["n"])),
        "role",
        ">tokens=estimate",
        ("", _badges),
        ("begins with", lambda message: plain(" ".join(map(_part_words, message["parts"])), 90)),
    )
    lines = [*_head(document), "", *listing(messages, *columns)]
    if document["validity"]:
        lines += ["", "validity:"]
        lines += [
            f"  {violation['rule']}: {plain(violation['why'])} ({plain(violation['message'])})"
            for violation in document["validity"]
        ]
    return lines


def _head(document: dict[str, Any]) -> list[str]:
    pressure = document["pressure"]
    tools = document["tools"]
    system = document["system"]
    size = f"{number(pressure['tokens'])} tokens, {pressure['kind']}"
    if pressure["ratio"] is not None:
        size += f", {per_cent(pressure['ratio'], places=1)} of {number(pressure['window'])}"
    rows = [
        ("thread", plain(document["thread"])),
        ("request", str(document["request"])),
        ("pressure", size),
    ]
    if pressure["band"]:
        rows.append(("most likely", " to ".join(map(number, pressure["band"]))))
    rows += [
        ("estimate", f"{number(pressure['estimated'])} (Roku)"),
        ("own count", f"{number(pressure['believed'])} ({document['policy']})"),
        ("not in file", number(pressure["not_in_file"])),
        ("system", "not recorded" if system is None else plain(system, 90) or "empty"),
        ("tools", "not recorded" if tools is None else f"{len(tools)}"),
    ]
    return pairs(rows)


def _badges(message: Mapping[str, Any]) -> str:
    parts = message["parts"]
    badges = {
        message["mark"]: message["mark"],
        "summary": message["summary"],
        "error": any(part.get("is_error") for part in parts),
        "image": any(part["type"] == "image" for part in parts),
    }
    return ",".join(name for name, is_so in badges.items() if is_so)


def _part_words(part: dict[str, Any]) -> str:
    match part["type"]:
        case "text":
            return str(part["text"][:400])
        case "thinking":
            return f"(thinking) {part['text'][:400]}"
        case "tool_call":
            return f"{part['name']} {dumps(part['arguments'])[:400]}"
        case "tool_result":
            return str(part["content"][:400])
        case "image":
            return f"({part['media_type']}, {number(part['bytes'])} bytes)"
        case kind:
            return f"({kind} {part['kind']}, {number(part['bytes'])} bytes)"
