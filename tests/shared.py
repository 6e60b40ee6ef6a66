"""The transcripts that many tests read: real ones, else made-up ones.

The real ones lie beside the checkout, or where CONTEXT_INSPECTOR_TRANSCRIPTS says, in a folder for each origin. They
are never copied into the repository. Without them the same folders are filled with the made-up transcripts of
`tests/data`, so that every test runs; what was measured on the real ones asks for `ARE_REAL`.
"""

import atexit
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

_ROOT = Path(__file__).resolve().parent.parent
_BESIDE = _ROOT.parent / "shared" / "transcripts"
_REAL = Path(os.environ.get("CONTEXT_INSPECTOR_TRANSCRIPTS") or _BESIDE)

ARE_REAL = _REAL.is_dir()
"""Are there real transcripts on this machine?"""

_DATA = _ROOT / "tests" / "data"
_EXCHANGES = {
    client: [
        f"{client}_0{number}.{what}" for number in (1, 2, 3) for what in ("request", "response")
    ]
    for client in ("claude", "codex")
}
_MADE_UP: Mapping[str, str] = {
    "aider-llm-history/made-up/.aider.llm.history": "exports/aider.llm.history",
    "api-cassettes/made-up/cassette.yaml": "traffic/cassette.yaml",
    "api-trace/lis186-made-up/frames.ndjson": "traffic/frames.ndjson",
    "api-trace/made-up/exchanges.jsonl": "traffic/exchanges.jsonl",
    "api-trace/made-up/packets.json": "traffic/packets.json",
    "atif/made-up/trajectory.json": "harnesses/atif/trajectory.json",
    "atif-traces/made-up.json": "harnesses/atif-traces.json",
    "claude-code/made-up/sample/full.jsonl": "../../resources/sample.jsonl",
    "cline-session/made-up.messages.json": "cline/session.messages.json",
    "cline/made-up/task/api_conversation_history.json": "cline/task/api_conversation_history.json",
    "cline/made-up/task/ui_messages.json": "cline/task/ui_messages.json",
    "clients/claude-2.1.330-made-up/wire.jsonl": "claude_code/wire.jsonl",
    "clients/codex-made-up-autocompact.jsonl": "codex/tides.jsonl",
    "clients/gemini-made-up-autocompact.jsonl": "gemini_cli/tides.jsonl",
    "clients/opencode-made-up.db": "opencode/tides.sql",
    "clients/opencode-made-up.export.json": "opencode/tides.json",
    "clients/pi-made-up-autocompact.jsonl": "pi/tides.jsonl",
    "codex/made-up/full.jsonl": "codex/tides.jsonl",
    "copilot-cli/made-up/0/events.jsonl": "copilot_cli/events.jsonl",
    "crush/made-up/.crush/crush.db": "crush/crush.sql",
    **{
        f"derived-payloads/anthropic/{name}.json": f"payloads/{name}.json"
        for name in _EXCHANGES["claude"]
    },
    **{
        f"derived-payloads/openai-responses/{name}.json": f"payloads/{name}.json"
        for name in _EXCHANGES["codex"]
    },
    "fixtures-synthetic/made-up/boundary.jsonl": "claude_code/boundary.jsonl",
    "gemini-cli/made-up/chat.jsonl": "gemini_cli/tides.jsonl",
    "gemini-contents/made-up/contents.json": "exports/gemini-contents.json",
    "har/made-up/archive.har": "traffic/archive.har",
    "inspect/made-up/log.json": "harnesses/inspect.json",
    "langfuse/made-up/trace.json": "traces/langfuse.json",
    "langsmith/made-up/runs.json": "traces/langsmith.json",
    "mini-swe-agent/made-up/one.traj.json": "harnesses/mini-swe-agent.traj.json",
    "openai-agents-trace/made-up/trace.json": "traces/openai-agents.json",
    "openai-chat/made-up.json": "harnesses/tau-bench.json",
    "own/chat.json": "payloads/chat.json",
    "openclaw/made-up/session.jsonl": "openclaw/session.jsonl",
    "openclaw/made-up/session.trajectory.jsonl": "openclaw/session.trajectory.jsonl",
    "openhands/made-up/openhands.json": "harnesses/openhands.json",
    "openhands-llm-log/made-up/log.json": "harnesses/openhands-log/acorn__oak-2-1767225600.125.json",
    "openhands-v1/made-up/events.jsonl": "harnesses/openhands-v1.jsonl",
    "openinference/made-up/spans.json": "traces/openinference.json",
    "otel-json/made-up/spans.jsonl": "traces/otel.jsonl",
    "own/journal.jsonl": "journal/run.jsonl",
    "own/recording.jsonl": "proxy/recording.jsonl",
    "pi/made-up/tides.jsonl": "pi/tides.jsonl",
    "qwen-code/made-up/chat.jsonl": "qwen_code/chat.jsonl",
    "swe-agent/made-up/one.traj": "harnesses/swe-agent.traj",
    "vibe/made-up/messages.jsonl": "exports/vibe/messages.jsonl",
    "vibe/made-up/meta.json": "exports/vibe/meta.json",
    "vscode-debug-log/made-up/main.jsonl": "exports/vscode-debug-log/main.jsonl",
    "vscode-chatreplay/made-up/replay.json": "traces/vscode-replay.json",
    "vscode-copilot-chat/made-up/chat.json": "exports/vscode-chat.json",
}
"""Where a made-up transcript lies among the folders of the real ones, and which file of `tests/data` it is."""


def lay_out(folder: Path) -> None:
    """Lay the made-up transcripts out in a folder as the real ones are."""
    for name, source in _MADE_UP.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".sql"):
            with closing(sqlite3.connect(path)) as database:
                database.executescript((_DATA / source).read_text(encoding="utf-8"))
        else:
            shutil.copyfile(_DATA / source, path)


def _made_up_folder() -> Path:
    """Return a folder with the made-up transcripts that is removed when the process ends."""
    folder = TemporaryDirectory(prefix="context-inspector-made-up-")
    atexit.register(folder.cleanup)
    lay_out(Path(folder.name))
    return Path(folder.name)


TRANSCRIPTS: Path = _REAL if ARE_REAL else _made_up_folder()


def transcripts(pattern: str) -> Iterator[Path]:
    """The transcripts that match `pattern` (as in Path.glob), in name order."""
    return iter(sorted(TRANSCRIPTS.glob(pattern)))
