"""Request bodies as clients write them, made of a drawn conversation; read by the readers of the real formats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.dialects import catalogue
from inspector.core.dialects.recipe import carry_out
from inspector.core.dialects.rewrite import items_of, plan_recipes, with_items
from inspector.core.formats.payload.reader import PayloadReader
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolResult

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
WORDS = st.sampled_from(
    ["look", "why?", "ü 語", "a b", "line\nline", '{"a": 1}', "go on", "x" * 40]
)


@dataclass(frozen=True)
class Turn:
    """What a person said and what the model did about it: rounds of (thinking, text, results of its calls)."""

    said: str
    rounds: tuple[tuple[str, str, tuple[str, ...]], ...]
    answer: str


ROUND = st.tuples(
    st.sampled_from(["", "hm"]),
    st.sampled_from(["", "I look"]),
    st.lists(WORDS, min_size=1, max_size=3),
)
TURNS = st.lists(
    st.builds(
        Turn,
        WORDS,
        st.lists(ROUND.map(lambda r: (r[0], r[1], tuple(r[2]))), max_size=3).map(tuple),
        st.sampled_from(["done", "ok"]),
    ),
    min_size=1,
    max_size=4,
)


def wire_items(dialect: str, turns: Sequence[Turn]) -> list[Any]:
    """The whole conversation as the client holds it, up to the last answer."""
    write = {
        "anthropic": _anthropic,
        "openai-chat": _chat,
        "openai-responses": _responses,
        "gemini": _gemini,
    }[dialect]
    found: list[Any] = []
    for n, turn in enumerate(turns):
        found += write(n, turn)
    return found


def _anthropic(n: int, turn: Turn) -> list[Any]:
    items: list[Any] = [{"role": "user", "content": turn.said, "output_config": {"n": n}}]
    for m, (thinking, text, results) in enumerate(turn.rounds):
        ids = [f"toolu_{n}_{m}_{k}" for k in range(len(results))]
        said: list[Any] = [
            {"type": "thinking", "thinking": thinking, "signature": f"sig{n}{m}"}
        ] * bool(thinking)
        said += [{"type": "text", "text": text, "citations": None}] * bool(text)
        said += [
            {"type": "tool_use", "id": one, "name": "bash", "input": {"c": one}, "caller": "x"}
            for one in ids
        ]
        back = [
            {
                "tool_use_id": one,
                "type": "tool_result",
                "content": [{"type": "text", "text": result}],
                "extra": k,
            }
            for k, (one, result) in enumerate(zip(ids, results, strict=True))
        ]
        items += [{"role": "assistant", "content": said}, {"content": back, "role": "user"}]
    return [*items, {"role": "assistant", "content": [{"type": "text", "text": turn.answer}]}]


def _chat(n: int, turn: Turn) -> list[Any]:
    items: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": turn.said, "extra": 1}]}
    ]
    for m, (thinking, text, results) in enumerate(turn.rounds):
        ids = [f"call_{n}_{m}_{k}" for k in range(len(results))]
        calls = [
            {
                "id": one,
                "type": "function",
                "function": {"name": "bash", "arguments": dumps({"c": one})},
                "index": k,
            }
            for k, one in enumerate(ids)
        ]
        said = {
            "role": "assistant",
            "content": text or None,
            "tool_calls": calls,
            "extra_content": {"s": "sig"},
        }
        items.append({**said, "reasoning_content": thinking} if thinking else said)
        items += [
            {"tool_call_id": i, "role": "tool", "content": r}
            for i, r in zip(ids, results, strict=True)
        ]
    return [*items, {"role": "assistant", "content": turn.answer, "refusal": None}]


def _responses(n: int, turn: Turn) -> list[Any]:
    items: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": turn.said}], "type": "message"}
    ]
    for m, (thinking, text, results) in enumerate(turn.rounds):
        ids = [f"call_{n}_{m}_{k}" for k in range(len(results))]
        if thinking:
            summary = [{"type": "summary_text", "text": thinking}]
            items.append(
                {
                    "type": "reasoning",
                    "id": f"rs{n}{m}",
                    "summary": summary,
                    "encrypted_content": f"e{n}{m}",
                }
            )
        if text:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            items.append(
                {"type": "message", "role": "assistant", "id": f"msg{n}{m}", "content": content}
            )
        items += [_call(k, one) for k, one in enumerate(ids)]
        items += [
            _result(k, one, result)
            for k, (one, result) in enumerate(zip(ids, results, strict=True))
        ]
    content = [{"type": "output_text", "text": turn.answer}]
    return [
        *items,
        {"type": "message", "role": "assistant", "content": content, "phase": "final_answer"},
    ]


def _call(k: int, call_id: str) -> Any:
    if k == 1:
        return {
            "type": "custom_tool_call",
            "call_id": call_id,
            "name": "patch",
            "input": "*** Begin",
            "id": "ctc",
        }
    arguments = dumps({"c": call_id})
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": "b",
        "arguments": arguments,
    }


def _result(k: int, call_id: str, text: str) -> Any:
    kind = "custom_tool_call_output" if k == 1 else "function_call_output"
    return {"type": kind, "call_id": call_id, "output": text}


def _gemini(n: int, turn: Turn) -> list[Any]:
    items: list[Any] = [{"role": "user", "parts": [{"text": turn.said}]}]
    for m, (thinking, text, results) in enumerate(turn.rounds):
        said: list[Any] = [{"text": thinking, "thought": True}] * bool(thinking) + [
            {"text": text}
        ] * bool(text)
        named = {"id": f"c{n}{m}"} if m == 1 else {}  # most have none
        for k in range(len(results)):
            call = {"name": f"run{k}", "args": {"c": f"{n} {m} {k}"}}
            extra = {"thoughtSignature": f"sig{n}{m}"} if k == 0 else {}
            said.append(
                {
                    "functionCall": {**({"id": f"{named['id']}{k}"} if named else {}), **call},
                    **extra,
                }
            )
        back = [
            {
                "functionResponse": {
                    **({"id": f"{named['id']}{k}"} if named else {}),
                    "name": f"run{k}",
                    "response": {"output": result},
                    "extra": k,
                }
            }
            for k, result in enumerate(results)
        ]
        items += [{"role": "model", "parts": said}, {"parts": back, "role": "user"}]
    return [*items, {"role": "model", "parts": [{"text": turn.answer}]}]


def body_of(dialect: str, items: Sequence[Any]) -> dict[str, Any]:
    """A request with these items, and with much else."""
    if dialect == "anthropic":
        system = [{"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}]
        more = {"metadata": {"user_id": "u"}, "stream": True}
        return {
            "model": "m",
            "messages": list(items),
            "max_tokens": 100,
            "system": system,
            "tools": [{"name": "b"}],
            **more,
        }
    if dialect == "gemini":
        return {
            "contents": list(items),
            "systemInstruction": {"parts": [{"text": "be kind"}]},
            "generationConfig": {},
        }
    if dialect == "openai-chat":
        head = [{"role": "system", "content": "be kind", "name": "s"}]
        return {
            "messages": [*head, *items],
            "model": "m",
            "stream_options": {"include_usage": True},
        }
    return {
        "model": "m",
        "instructions": "be kind",
        "input": list(items),
        "store": False,
        "include": ["x"],
    }


def marked(body: dict[str, Any], at: int) -> dict[str, Any]:
    """Anthropic's body with the cache mark on the last block of message `at` (a string becomes a block)."""
    items = list(body["messages"])
    one = items[at]
    content = (
        [{"type": "text", "text": one["content"]}]
        if isinstance(one["content"], str)
        else list(one["content"])
    )
    content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    items[at] = {**one, "content": content}
    return {**body, "messages": items}


def rewrite(dialect: str, body: dict[str, Any], original: Buffer, new: Buffer) -> dict[str, Any]:
    """The body with `new` in it, as the proxy's gate makes it."""
    items = items_of(dialect, body)
    recipes = plan_recipes(dialect, items, original.messages, new.messages)
    return with_items(dialect, body, [carry_out(recipe, items) for recipe in recipes])


def buffer_of(dialect: str, body: Any) -> Buffer:
    """The buffer that the format of that name reads."""
    reader = PayloadReader(catalogue.DIALECTS[dialect])
    reader.feed(1, body)
    return reader.session().main.requests[-1].buffer()


def said(messages: Sequence[Message]) -> list[Any]:
    """Role and parts, whoever wrote them: neighbouring texts as one, empty messages left out."""
    found: list[Any] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                # Chat and Responses cannot say that it failed.
                found.append(("tool", part.call_id, part.content))
            elif not (isinstance(part, Text) and not part.text):
                found.append((message.role, part))
    return found
