"""The OpenAI Agents SDK's session limit as a policy: `replay FILE --policy ./openai_agents_session.py`.

A session of the SDK keeps every item, and its runner sends the newest ones.
"""

import asyncio
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SessionSettings, SQLiteSession, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from inspector.api import Items, policy_from

NEWEST_ITEMS = 120


class Recorder(Model):
    """A model that keeps what it is sent."""

    received: Items

    async def get_response(self, **sent: Any) -> ModelResponse:
        self.received = sent["input"]
        text = ResponseOutputText(text="done", type="output_text", annotations=[])
        fields = {"id": "m", "role": "assistant", "status": "completed", "type": "message"}
        return ModelResponse([ResponseOutputMessage(content=[text], **fields)], Usage(), None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


async def trim(items: Items) -> Items:
    session, model = SQLiteSession("replay"), Recorder()
    await session.add_items(items[:-1])
    settings = RunConfig(session_settings=SessionSettings(limit=NEWEST_ITEMS), tracing_disabled=True)
    await Runner.run(Agent("replay", model=model), items[-1:], session=session, run_config=settings)
    return model.received


POLICY = policy_from(lambda items, ask: asyncio.run(trim(items)), "openai-responses", name="openai-agents").policy
