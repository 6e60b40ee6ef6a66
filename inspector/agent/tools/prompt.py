"""What our own agent is told before anything else. Short: it stands in every buffer."""

from pathlib import Path

from inspector.agent.tools.schemas import TOOLS, WITHOUT_TASK
from inspector.core.buffer import Prompt

_TEXT = """You are an agent that works in one folder, the workspace: {folder}
Do what the user asks with the tools. Paths are given from the workspace on; nothing outside it can be read or written.
Look before you change; read a file before you edit it. After a change run the tests or whatever shows that it works.
Reading and searching are free. Writing and commands may be put to the user first; where they say no, respect it.
Older parts of this conversation may be cleared or summarised: what you need again, read again.
When you are done, say in a few sentences what you did, what you checked, and what is left. Do not claim what you have \
not seen."""
_SUB_AGENT = """
You are a sub-agent: another agent gave you this task and reads only your last message."""


def prompt(workspace: Path, sub_agent: bool = False) -> Prompt:
    """System prompt and tools of an agent in this workspace; `sub_agent` = one that another started."""
    text = _TEXT.format(folder=workspace)
    return Prompt(text + _SUB_AGENT, WITHOUT_TASK) if sub_agent else Prompt(text, TOOLS)
