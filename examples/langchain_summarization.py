"""LangChain's SummarizationMiddleware as a policy: `replay FILE --policy ./langchain_summarization.py`.

Needs the package `langchain`. By default the middleware shows its model only the last 4,000 tokens of what it removes.
"""

from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import RemoveMessage, convert_to_messages, convert_to_openai_messages

from inspector.api import Ask, Items, policy_from


class Summariser(SimpleChatModel):
    """The model that LangChain asks; the answer comes from whoever answers for the replay (`--answerer`)."""

    ask: Any

    @property
    def _llm_type(self) -> str:
        return "summariser"

    def _call(self, messages: list[Any], *args: Any, **more: Any) -> str:
        return str(self.ask(messages[-1].text))


def summarise(items: Items, ask: Ask) -> Items:
    """Run the middleware as an agent does before it calls its model."""
    model = Summariser(ask=ask)
    limits = {"trigger": ("tokens", 80_000), "keep": ("messages", 20)}
    middleware = SummarizationMiddleware(model, **limits, trim_tokens_to_summarize=None)
    update = middleware.before_model({"messages": convert_to_messages(items)}, None)
    if update is None:
        return items
    return convert_to_openai_messages([one for one in update["messages"] if not isinstance(one, RemoveMessage)])


POLICY = policy_from(summarise, "openai-chat", name="langchain-summarization").policy
