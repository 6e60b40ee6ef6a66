"""Gemini, as the simulated provider reads and writes it. Model and verb stand in the path, not in the body."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.gemini import read_contents, read_prompt
from inspector.core.jsontext import dumps
from inspector.simulated.arguments import Known, fill
from inspector.simulated.call import Call, Said, Spent
from inspector.simulated.dialect import Event, Refused, limit, pieces
from inspector.simulated.refusals import Refusal

GEMINI = "gemini"
MODEL = "{model:[^/:]+}"
"""As it stands in a route; what follows it is a colon and the verb."""
_FINISH = {"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS"}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiDialect:
    """`:generateContent`, `:streamGenerateContent`. `model` and `stream` are put into the body by whoever routes."""

    name = GEMINI

    def read(self, body: Mapping[str, Any]) -> Call:
        """The request. Raises Refused."""
        contents = body.get("contents")
        if not isinstance(contents, list | Mapping):
            raise Refused(Refusal(400, "* GenerateContentRequest.contents: contents is not specified"))
        messages = read_contents(contents)
        config = body.get("generationConfig")
        asked = config.get("maxOutputTokens") if isinstance(config, Mapping) else None
        prompt = read_prompt(body)
        tools = tuple(Tool(tool.name, _lower(tool.definition)) for tool in prompt.tools or ())
        return Call(
            Buffer(messages, Prompt(prompt.system, tools)),
            str(body.get("model") or ""),
            limit(asked),
            body.get("stream") is True,
            body,
            len(messages),
        )

    def answer(self, call: Call, said: Said, spent: Spent) -> dict[str, Any]:
        """The whole answer, as JSON. Where a schema is asked for, the text keeps to it."""
        schema = _schema(call.body)
        text = dumps(fill(schema, Known(("README.md",), ("simulated",), (), 0))) if schema else said.text
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        parts += [{"functionCall": {"name": one.name, "args": one.arguments}} for one in said.calls]
        return {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": _FINISH[said.finish], "index": 0}
            ],
            "usageMetadata": _usage(spent),
            "modelVersion": call.model,
            "responseId": call.digest,
        }

    def events(self, answer: dict[str, Any]) -> Iterator[Event]:
        """The same answer as a stream: text in pieces, a call whole, usage with every chunk."""
        head = {key: answer[key] for key in ("modelVersion", "responseId")}
        candidate = answer["candidates"][0]
        usage = {key: value for key, value in answer["usageMetadata"].items() if key != "candidatesTokenCount"}
        for part in candidate["content"]["parts"]:
            for one in [{"text": piece} for piece in pieces(part["text"])] if "text" in part else [part]:
                told = {"content": {"role": "model", "parts": [one]}, "index": 0}
                yield "", {**head, "candidates": [told], "usageMetadata": usage}
        last = {
            "content": {"role": "model", "parts": [{"text": ""}]},
            "finishReason": candidate["finishReason"],
            "index": 0,
        }
        yield "", {**head, "candidates": [last], "usageMetadata": answer["usageMetadata"]}

    def failed(self, refusal: Refusal) -> Iterator[Event]:
        """The last events of a stream that goes wrong."""
        yield "", self.refused(refusal)

    def alive(self) -> Event:
        """An event that says nothing but that the server is there."""
        return "", {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0}]}

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error."""
        status = _STATUS.get(refusal.status, "INTERNAL" if refusal.status >= 500 else "INVALID_ARGUMENT")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


def model_document(name: str, window: int) -> dict[str, Any]:
    """A model, as the list of models tells it."""
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": window,
        "outputTokenLimit": 8192,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


def counted(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a count is asked of: the contents themselves, or a whole request around them."""
    inner = body.get("generateContentRequest")
    return inner if isinstance(inner, Mapping) else body


def _usage(spent: Spent) -> dict[str, Any]:
    cached = {"cachedContentTokenCount": spent.read} if spent.read else {}
    return {
        "promptTokenCount": spent.prompt,
        "candidatesTokenCount": spent.output,
        "totalTokenCount": spent.prompt + spent.output,
        **cached,
    }


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    config = body.get("generationConfig")
    if not isinstance(config, Mapping):
        return {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    lowered = _lower(schema)
    return lowered if isinstance(lowered, Mapping) else {}


def _lower(schema: Any, depth: int = 0) -> Any:
    """The same schema with its types in small letters: Gemini writes `STRING`."""
    if depth > 8 or not isinstance(schema, Mapping | list):
        return schema
    if isinstance(schema, list):
        return [_lower(one, depth + 1) for one in schema]
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value, depth + 1)
        for key, value in schema.items()
    }
