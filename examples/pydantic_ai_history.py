"""A history processor of pydantic-ai as a policy: `replay FILE --policy ./pydantic_ai_history.py`."""

import json

from pydantic_ai import Agent, ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from inspector.api import Ask, Items, policy_from


def keep_newest(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages if len(messages) < 100 else [messages[0], *messages[-60 - (messages[-60].kind == "request") :]]


def process(items: Items, ask: Ask) -> Items:
    sent = []
    model = FunctionModel(lambda messages, info: sent.extend(messages) or ModelResponse([TextPart("done")]))
    Agent(model, capabilities=[ProcessHistory(keep_newest)]).run_sync(message_history=[read(item) for item in items])
    return [item for message in sent for item in write(message)]


def read(item: dict) -> ModelMessage:
    if item["role"] != "assistant":
        result = ToolReturnPart("tool", item["content"], item.get("tool_call_id"), metadata=item)
        return ModelRequest([result if item["role"] == "tool" else UserPromptPart(json.dumps(item))])
    calls = [ToolCallPart(*call["function"].values(), call["id"]) for call in item.get("tool_calls", ())]
    return ModelResponse([TextPart(item["content"] or ""), *calls])


def write(m: ModelMessage) -> Items:
    if m.kind == "request":
        pairs = [(getattr(p, "metadata", {}), p.content) for p in m.parts]
        return [item | {"content": text} if item else json.loads(text) for item, text in pairs]
    calls = [{"id": c.tool_call_id, "function": {"name": c.tool_name, "arguments": c.args}} for c in m.tool_calls]
    return [{"role": "assistant", "content": m.text, "tool_calls": calls}]


POLICY = policy_from(process, "openai-chat", name="pydantic-ai").policy
