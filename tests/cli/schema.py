"""The shape of every JSON document of the command line: names and types, as the contract says them."""

from typing import Any

NUMBER: tuple[type, ...] = (int, float)
NONE = type(None)

INFO = {
    "format": str,
    "path": str,
    "model": str,
    "window": {"tokens": (int, NONE), "source": str, "warnings": [str]},
    "end": {
        "tokens": (int, NONE),
        "kind": str,
        "band": ([int], NONE),
        "believed": int,
        "unseen": int,
    },
    "threads": [
        {"id": str, "requests": int, "messages": int, "model": str, "title": str, "parent": str}
    ],
    "thread": str,
    "requests": [
        {
            "index": int,
            "reported": (int, NONE),
            "estimated": int,
            "calibrated": int,
            "predicted": (int, NONE),
            "band": ([int], NONE),
            "believed": int,
            "unseen": int,
            "output": (int, NONE),
            "cache_read": (int, NONE),
            "cache_write": (int, NONE),
            "cache_write_1h": (int, NONE),
            "messages": int,
            "time": str,
            "finish": str,
            "kind": str,
            "tokens": (int, NONE),
        }
    ],
    "compactions": [
        {
            "before_request": int,
            "trigger": str,
            "tokens_before": (int, NONE),
            "tokens_after": (int, NONE),
            "kept": int,
            "summary_chars": int,
            "kind": str,
            "inferred": bool,
            "evidence": str,
        }
    ],
    "totals": {
        "input": int,
        "cache_read": int,
        "cache_write": int,
        "cache_write_5m": int,
        "cache_write_1h": int,
        "output": int,
        "cost_usd": (*NUMBER, NONE),
    },
    "observed_triggers": [{"before_request": int, "tokens": int, "ratio": (*NUMBER, NONE)}],
    "client_trigger": (
        {"client": str, "version": str, "observed": bool, "tokens": [int], "words": str},
        NONE,
    ),
    "drops": [
        {
            "thread": str,
            "request": int,
            "kind": str,
            "loss": bool,
            "why": str,
            "marker": str,
            "lost": [str],
            "changed": [str],
            "kept": int,
            "tokens_before": (int, NONE),
            "tokens_after": (int, NONE),
            "compaction": (int, NONE),
        }
    ],
    "side_calls": [
        {
            "kind": str,
            "thread": str,
            "before_request": int,
            "compaction": (int, NONE),
            "what": str,
            "model": str,
            "status": (int, NONE),
            "input": (int, NONE),
            "output": (int, NONE),
            "cost_usd": (*NUMBER, NONE),
        }
    ],
    "summary": [str],
    "totals_by_thread": dict,
    "problems": [{"line": int, "what": str, "excerpt": str}],
    "sessions": [{"id": str, "title": str, "path": str}],
    "notes": [str],
}
BUFFER = {
    "thread": str,
    "request": (int, str),
    "system": (str, NONE),
    "tools": (list, NONE),
    "pressure": {
        "tokens": (int, NONE),
        "kind": str,
        "estimated": int,
        "calibrated": int,
        "reported": (int, NONE),
        "window": (int, NONE),
        "ratio": (*NUMBER, NONE),
        "band": ([int], NONE),
        "unseen": int,
        "categories": dict,
        "not_in_file": (int, NONE),
    },
    "messages": [
        {"id": str, "role": str, "tokens": int, "summary": bool, "parts": [{"type": str}]}
    ],
    "validity": [{"rule": str, "message": str, "why": str, "providers": [str]}],
}
BREAKDOWN = {
    "thread": str,
    "request": (int, str),
    "tokens": (int, NONE),
    "kind": str,
    "tree": {"name": str, "kind": str, "tokens": int},
    "repeats": [{"tokens_each": int, "times": int, "free": int, "messages": [str], "what": str}],
    "repeats_free": int,
    "tools": [
        {
            "name": str,
            "server": str,
            "schema_tokens": (int, NONE),
            "calls": int,
            "calls_in_buffer": int,
            "tokens": int,
        }
    ],
}
PARTS = {
    "text": {"text": str},
    "thinking": {"text": str},
    "tool_call": {"id": str, "name": str, "arguments": object},
    "tool_result": {"call_id": str, "content": str, "is_error": bool},
    "image": {"media_type": str},
    "opaque": {"kind": str},
}
PREDICTION = {
    "requests": int,
    "median": (*NUMBER, NONE),
    "p90": (*NUMBER, NONE),
    "after_compaction": {"count": int, "median": (*NUMBER, NONE), "inside_band": (*NUMBER, NONE)},
}
CALIBRATE = {
    "prediction": PREDICTION,
    "estimators": [
        {
            "name": str,
            "prediction": PREDICTION,
            "samples": [
                {
                    "request": int,
                    "estimated": int,
                    "reported": int,
                    "scale": NUMBER,
                    "predicted": int,
                    "error": NUMBER,
                }
            ],
            "median_abs_error": (*NUMBER, NONE),
            "p90_abs_error": (*NUMBER, NONE),
            "r2": (*NUMBER, NONE),
            "r2_by_model": (*NUMBER, NONE),
            "overhead": (*NUMBER, NONE),
            "slope": (*NUMBER, NONE),
        }
    ],
}
ESTIMATE = {"estimator": str, "class": str, "bytes": int, "tokens": int}
SPAN = {"from": int, "to": int, "state": str, "evidence": str, "message": str}
PINS = {
    "pins": [
        {
            "text": str,
            "message": str,
            "request": int,
            "found": str,
            "recorded": [SPAN],
            "policies": dict,
            "violations": [{"request": int, "message": str, "why": str, "state": str}],
        }
    ]
}
LOST = {
    "compactions": [
        {
            "index": int,
            "thread": str,
            "before_request": int,
            "kind": str,
            "trigger": str,
            "tokens_before": (int, NONE),
            "tokens_after": (int, NONE),
            "facts": {
                "before": int,
                "kept": int,
                "paraphrased": int,
                "lost": int,
                "needed_again": int,
            },
            "lost": [
                {
                    "kind": str,
                    "text": str,
                    "message": str,
                    "rank": int,
                    "fate": str,
                    "needed_again": [{"request": int, "how": str, "message": str, "tokens": int}],
                }
            ],
            "cost_usd": (*NUMBER, NONE),
            "saved_per_request_usd": (*NUMBER, NONE),
            "paid_after_requests": (int, NONE),
        }
    ]
}
SESSIONS = {
    "sessions": [
        {"path": str, "format": str, "bytes": int, "modified": str, "project": str, "title": str}
    ]
}


def check(value: Any, shape: Any, where: str = "$") -> None:
    """Fails where the value has not the shape. A shape's names must be there; more names may be."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        for name, inner in shape.items():
            assert name in value, f"{where}.{name} is missing"
            check(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, tuple) and isinstance(shape[0], list | dict):
        check(value, shape[0] if value is not None else NONE, where)
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for n, one in enumerate(value):
            check(one, shape[0], f"{where}[{n}]")
    else:
        assert isinstance(value, shape), f"{where} is {value!r}"
        assert not isinstance(value, bool) or shape in (bool, object), f"{where} is a truth value"


def check_buffer(document: Any) -> None:
    """As `check`, with the names that each kind of part has."""
    check(document, BUFFER)
    for message in document["messages"]:
        assert message["role"] in ("user", "assistant", "tool", "system")
        for part in message["parts"]:
            check(part, PARTS[part["type"]], f"{message['id']} {part['type']}")
