"""What `info` prints for people: its document as tables."""

from typing import Any

from inspector.cli.output import number, pairs, plain, table


def info_lines(document: dict[str, Any]) -> list[str]:
    """The whole document."""
    return [
        *_head(document),
        *_section("threads", _thread_table(document)),
        *_section(f"requests of {plain(document['thread'])}", _request_table(document)),
        *_section("compactions", _compaction_table(document)),
        *_section("changes of the buffer", _drop_table(document)),
        *_section("side calls", _side_call_table(document)),
        *_section("problems", _problem_table(document)),
    ]


def _section(title: str, rows: list[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {row}" for row in rows)] if len(rows) > 1 else []


def _head(document: dict[str, Any]) -> list[str]:
    window, totals = document["window"], document["totals"]
    at_least = "" if totals["output_is_final"] else " at least"
    hourly = f" ({number(totals['cache_write_1h'])} for an hour)" if totals["cache_write_1h"] else ""
    spent = (
        f"{number(totals['input'])} input, {number(totals['cache_read'])} cache read, "
        f"{number(totals['cache_write'])} cache write{hourly},{at_least} {number(totals['output'])} output"
    )
    price = "" if totals["cost_usd"] is None else f"; ${totals['cost_usd']:,.2f}"
    rows = [
        ("file", plain(document["path"])),
        ("format", document["format"] + (f" ({plain(document['client'])})" if document["client"] else "")),
        ("model", plain(document["model"]) or "not recorded"),
        ("window", _window(window)),
        *(("warning", plain(warning)) for warning in window["warnings"]),
        *(("note", plain(sentence)) for sentence in document["notes"]),
        ("tokens", f"{spent}{price}" if totals["calls"] else "no usage recorded"),
    ]
    return pairs(rows)


def _window(window: dict[str, Any]) -> str:
    known = ": ".join(word for word in (window["source"], window["basis"]) if word)
    return f"{number(window['tokens'])} tokens ({known})" if window["tokens"] else "unknown"


def _thread_table(document: dict[str, Any]) -> list[str]:
    rows = [
        (plain(t["id"], 40), number(t["requests"]), number(t["messages"]), plain(t["model"], 32), plain(t["title"], 50))
        for t in document["threads"]
    ]
    return table(("thread", ">requests", ">messages", "model", "title"), rows)


def _request_table(document: dict[str, Any]) -> list[str]:
    names = ("reported", "predicted", "believed", "estimated", "output", "cache_read", "cache_write", "messages")
    rows = [
        (str(r["index"]), *(number(r[name]) for name in names), r["finish"], r["time"][:19])
        for r in document["requests"]
    ]
    heads = ("request", *names)
    return table((*(f">{head.replace('_', ' ')}" for head in heads), "finish", "time"), rows)


def _compaction_table(document: dict[str, Any]) -> list[str]:
    names = ("before_request", "tokens_before", "tokens_after", "kept", "summary_chars")
    rows = [(c["kind"], c["trigger"] or "-", *(number(c[name]) for name in names)) for c in document["compactions"]]
    return table(("kind", "trigger", *(f">{name.replace('_', ' ')}" for name in names)), rows)


def _drop_table(document: dict[str, Any]) -> list[str]:
    rows = [
        (
            plain(d["thread"], 24),
            str(d["request"]),
            d["kind"],
            "yes" if d["loss"] else "no",
            number(len(d["lost"])),
            number(len(d["changed"])),
            number(d["tokens_before"]),
            number(d["tokens_after"]),
            plain(d["marker"], 60),
        )
        for d in document["drops"]
    ]
    counts = (">lost", ">changed", ">tokens before", ">tokens after")
    return table(("thread", ">request", "kind", "loss", *counts, "what tells so"), rows)


def _side_call_table(document: dict[str, Any]) -> list[str]:
    rows = [
        (
            c["kind"],
            plain(c["thread"], 24) or "-",
            str(c["before_request"]),
            plain(c["model"], 32),
            *(number(c[name]) for name in ("input", "cache_read", "output")),
            "-" if c["cost_usd"] is None else f"${c['cost_usd']:,.4f}",
            number(c["status"]),
            plain(c["what"], 60),
        )
        for c in document["side_calls"]
    ]
    heads = (
        "kind",
        "thread",
        ">before request",
        "model",
        ">input",
        ">cache read",
        ">output",
        ">cost",
        ">status",
        "what",
    )
    return table(heads, rows)


def _problem_table(document: dict[str, Any]) -> list[str]:
    rows = [
        (plain(p["file"], 40), str(p["line"]), plain(p["what"], 60), plain(p["excerpt"], 60))
        for p in document["problems"]
    ]
    return table(("file", ">line", "what", "excerpt"), rows)
