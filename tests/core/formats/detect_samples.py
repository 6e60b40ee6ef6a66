"""Values of formats, for tests."""

from typing import Any

USER = {"role": "user", "content": "hi"}
CLAUDE = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": USER}
PI_MESSAGE = {
    "type": "message",
    "id": "m",
    "parentId": None,
    "message": {"role": "user", "content": "hi"},
}
CURSOR_ANSWER = {
    "role": "assistant",
    "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {}}]},
}


FOREIGN: list[tuple[str, tuple[Any, ...]]] = [
    ("a claude-tap capture", ({"session": "s", "agent": "claude", "task": "t", "packets": []},)),
    ("a HAR web capture", ({"log": {"version": "1.2", "entries": []}},)),
    ("an LHAR capture", ({"type": "session", "trace_id": "t", "tool": "x"},)),
    (
        "a proxy log",
        ({"request": {"method": "POST", "path": "/", "body": {}}, "response": {"status": 200}},),
    ),
    (
        "a list of captured turns",
        ([{"turn": 1, "timestamp": "t", "messages": [USER], "response": {}}],),
    ),
    ("an export of claude.ai's chats", ([{"uuid": "c", "name": "n", "chat_messages": []}],)),
    ("an export of ChatGPT's chats", ([{"title": "t", "mapping": {}, "current_node": "b"}],)),
    (
        "a Cursor chat",
        ({"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}, CURSOR_ANSWER),
    ),
    (
        "an Amp thread",
        ({"v": 12, "id": "T-1", "created": 1, "messages": [{"role": "user", "messageId": 0}]},),
    ),
    (
        "a goose session",
        ({"working_dir": "/w", "description": "x", "message_count": 2}, {**USER, "created": 1}),
    ),
    (
        "a Kimi session",
        (USER, {"role": "_checkpoint", "id": 0}, {"role": "_usage", "token_count": 5}),
    ),
    (
        "a Kimi session",
        ({"message": {"type": "TurnBegin", "payload": {"user_input": []}}, "timestamp": 1.5},),
    ),
    ("a Continue chat", ({"sessionId": "s", "history": [{"message": USER, "contextItems": []}]},)),
    ("a Kiro chat", ({"sessionId": "s", "workspacePath": "/w", "history": [{"message": USER}]},)),
    (
        "a chat of Amazon Q",
        ({"conversation_id": "c", "history": [], "valid_history_range": [0, 1]},),
    ),
    (
        "a Factory Droid session",
        ({"type": "session_start", "id": "s"}, {**PI_MESSAGE, "parentId": "s"}),
    ),
    ("a DeepSeek Harness session", ({"type": "session", "version": 0, "id": "x", "createdAt": 1},)),
    (
        "a session of Google's Agent Development Kit",
        ({"app_name": "a", "user_id": "u", "events": []},),
    ),
    ("a state of AutoGen", ({"type": "TeamState", "version": "1.0.0", "agent_states": {}},)),
    ("messages of LangChain", ([{"type": "human", "data": {"content": "hi"}}],)),
    ("messages of Pydantic AI", ([{"parts": [{"part_kind": "user-prompt"}], "kind": "request"}],)),
    (
        "messages of the Vercel AI SDK",
        ([{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],),
    ),
    ("a data set of conversations", ({"conversations": [{"from": "human", "value": "hi"}]},)),
    (
        "a transcript of Windsurf",
        ({"status": "done", "type": "user_input", "user_input": {"user_response": "hi"}},),
    ),
    (
        "a transcript of Antigravity",
        ({"source": "USER_EXPLICIT", "type": "USER_INPUT", "content": "hi"},),
    ),
    (
        "an Augment session",
        ({"sessionId": "s", "chatHistory": [{"exchange": {"request_message": "hi"}}]},),
    ),
    ("a Junie session", ({"kind": "UserPromptEvent", "prompt": "hi", "timestampMs": 1},)),
    (
        "a gptme conversation",
        ({"role": "system", "content": "act", "timestamp": "t", "pinned": True}, USER),
    ),
    (
        "a nanobot session",
        ({"_type": "metadata", "created_at": "t", "metadata": {}}, {**USER, "timestamp": "t"}),
    ),
    (
        "a Rovo Dev session",
        ({"id": "s", "message_history": [{"parts": [], "kind": "request"}], "usage": {}},),
    ),
    (
        "a Codebuff chat",
        ([{"id": "user-1", "variant": "user", "content": "hi", "timestamp": "1:00 PM"}],),
    ),
    (
        "a trajectory of Trae Agent",
        ({"task": "t", "model": "m", "llm_interactions": [], "agent_steps": []},),
    ),
    ("a ForgeCode conversation", ({"conversation": {"id": "c", "context": {"messages": []}}},)),
    (
        "messages of Mastra",
        ([{"id": "m", "role": "user", "type": "v2", "content": {"format": 2, "parts": []}}],),
    ),
    (
        "a chat history of Semantic Kernel",
        ([{"Role": {"Label": "user"}, "Items": [{"Text": "hi"}]}],),
    ),
    (
        "an export of DeepSeek's chats",
        ([{"id": "c", "title": "t", "inserted_at": "t", "mapping": {}}],),
    ),
    (
        "an export of Grok's chats",
        ({"conversations": [{"conversation": {"id": "c"}, "responses": []}]},),
    ),
    (
        "an export of LobeChat",
        ({"exportType": "sessions", "state": {"messages": []}, "version": 7},),
    ),
    (
        "a big-AGI chat",
        ({"id": "c", "messages": [{"role": "user", "fragments": [{"ft": "content"}]}]},),
    ),
    ("a PostHog event", ({"event": "$ai_generation", "properties": {"$ai_input": [USER]}},)),
    (
        "events of OpenAI's Realtime API",
        ({"type": "session.created", "session": {"id": "s", "model": "m"}},),
    ),
    (
        "a log of OpenAI Evals",
        ({"spec": {"eval_name": "x", "run_id": "r"}}, {"type": "sampling", "data": {}}),
    ),
    ("a chat of Google AI Studio", ({"runSettings": {}, "chunkedPrompt": {"chunks": []}},)),
]
