"""The real SDKs ask the same of a proxy, each in its dialect."""

from typing import Any

import anthropic
import openai

from inspector.core.jsontext import loads
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer


def claude(proxy: ProxyServer, **more: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="k", base_url=proxy.url, max_retries=0, **more)


def gpt(proxy: ProxyServer, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=f"{proxy.url}/v1", max_retries=0, **more)


TOLD = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "I did one"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "I did two"},
    {"role": "user", "content": "three"},
]


ASKED: Any = {"model": "claude-simulated", "max_tokens": 500, "messages": TOLD}


def ask(kind: str, proxy: ProxyServer, messages: Any, stream: bool = False) -> Any:
    """One call in a dialect; its text."""
    given: Any = {"model": "gpt-simulated", "input": messages, "store": False}
    asked: Any = {"model": "claude-simulated", "max_tokens": 500, "messages": messages}
    if kind == "anthropic":
        with claude(proxy) as one:
            if not stream:
                return one.messages.create(**asked).content[0].text
            with one.messages.stream(**asked) as told:
                return told.get_final_text()
    with gpt(proxy) as other:
        if kind == "openai-responses":
            if not stream:
                return other.responses.create(**given).output_text
            with other.responses.stream(**given) as events:
                return events.get_final_response().output_text
        answer: Any = other.chat.completions.create(
            model="gpt-simulated", messages=messages, stream=stream
        )
        if stream:
            return "".join(
                chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices
            )
        return answer.choices[0].message.content


DIALECTS = ["anthropic", "openai-chat", "openai-responses"]


KEY = {"openai-responses": "input"}


def arrived(simulated: SimulatedServer, kind: str) -> list[str]:
    """The messages of the last request that the provider saw, as text."""
    body = loads(simulated.world.seen[-1].body)
    found = []
    for item in body[KEY.get(kind, "messages")]:
        content = item["content"]
        found.append(
            content if isinstance(content, str) else "".join(block["text"] for block in content)
        )
    return found
