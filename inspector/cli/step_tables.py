"""What `step` prints for people: its document as tables."""

from typing import Any

from inspector.cli.output import number, pairs, plain, table


def step_lines(document: dict[str, Any]) -> list[str]:
    """The whole document."""
    before, after = document["before"], document["after"]
    lines = pairs(
        [
            ("policy", document["policy"]),
            ("fired", ", ".join(document["fired"]) or "nothing"),
            ("succeeded", "yes" if document["succeeded"] else f"no: {document['error'] or 'nothing to compact'}"),
            ("before", _size(before["messages"], before, document["policy"])),
            ("after", _size(len(after["messages"]), after, document["policy"])),
        ]
    )
    lines += ["", *table(("tier", "due", "why"), [_verdict(one) for one in document["verdicts"]]), ""]
    lines += table(("fate", ">before", ">after", "message"), [_changed(one) for one in document["fates"]])
    lines += ["", *(f"{one['name']} {_event_fields(one)}".rstrip() for one in document["events"])]
    lines += [f"invalid: {plain(one['why'])}" for one in document["validity"]]
    return lines


def _size(messages: int, side: dict[str, Any], policy: str) -> str:
    """`13 messages, 41,200 tokens reported (40,100 to 42,300); roku believes 40,950`."""
    band = f" ({number(side['band'][0])} to {number(side['band'][1])})" if side["band"] else ""
    shown = f"{messages} messages, {number(side['predicted'])} tokens {side['kind']}{band}"
    return f"{shown}; {policy} believes {number(side['calibrated'])}"


def _verdict(one: dict[str, Any]) -> tuple[str, ...]:
    return one["tier"], "due" if one["due"] else "", plain(one["why"])


def _changed(one: dict[str, Any]) -> tuple[str, ...]:
    return one["fate"], number(one["tokens_before"]), number(one["tokens_after"]), plain(one["id"], 60)


def _event_fields(event: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in event.items() if key != "name")
