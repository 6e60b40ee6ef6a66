"""Find the files, commands and patches that a tool call is about, by the names that harnesses give to arguments."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from inspector.core.heavy import pattern
from inspector.core.message import Message, ToolCall

FILE_KEYS = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "notebook_path",
    "target_file",
    "absolute_path",
)
PATH_KEYS = (*FILE_KEYS, "url", "uri")
COMMAND_KEYS = ("command", "cmd", "script")
_SUBJECT_KEYS = ("pattern", "query", "skill", "description", "title", "name", "id", "prompt")
LONGEST_SUBJECT = 200
"""Largest number of characters of a subject. A longer subject is cut."""
_WRITERS = ("edit", "write", "patch", "create", "replace", "insert", "delete", "move")
_READERS = ("cat", "head", "tail", "sed", "nl", "less", "more", "bat", "type", "get-content")
_WRAPPERS = ("bash", "sh", "zsh", "-c", "-lc", "-l")

ATTACHED_FILE = re.compile(
    r"File (?P<path>[/~].*?|[A-Za-z]:\\.*?)(?P<state> was changed| was read before the compaction)?(:|;.*)"
)
"""Matches the first line of a message in which a client attaches a file."""


def writes(call: ToolCall) -> bool:
    """Does the name of the tool say that the call changes something?"""
    name = call.name.lower()
    return any(word in name for word in _WRITERS)


def path_of(call: ToolCall) -> str:
    """Return the path or address among a call's arguments; empty if there is none."""
    return first_text(call.arguments, PATH_KEYS)


def first_text(arguments: object, keys: Iterable[str]) -> str:
    """Return the first text among the arguments named by `keys`; empty if none of them holds text."""
    if not isinstance(arguments, Mapping):
        return ""
    return next((v for key in keys if isinstance(v := arguments.get(key), str) and v), "")


def used_last(
    messages: Sequence[Message], tools: Container[str], keys: Sequence[str]
) -> Iterator[tuple[str, ToolCall]]:
    """Yield (path, call) of the newest call for each path, newest first.

    Args:
        messages: The messages whose calls are searched.
        tools: Names of the tools whose calls count.
        keys: Names of the arguments that may hold the path.
    """
    seen = set[str]()
    for message in reversed(messages):
        for call in reversed(message.calls):
            path = first_text(call.arguments, keys) if call.name in tools else ""
            if path and path not in seen:
                seen.add(path)
                yield path, call


def read_by(call: ToolCall) -> str:
    """Return the path that a call reads, or the command that prints a file; empty if the call does not read."""
    if writes(call):
        return ""
    path = path_of(call)
    if path:
        return path
    command = command_of(call)  # such as `cat a.py`; a command that also does more counts, too
    words = command.split(None, 1)
    is_reading = bool(words) and words[0].lower() in _READERS and " -i" not in command
    return command if is_reading else ""


_BEFORE = re.compile(r"^(?:\s*(?:cd [^;&|]+|\w+=(?:\"[^\"]*\"|'[^']*'|[^\s;&|]*))\s*(?:&&|;))*\s*")
"""The prefix of a command line before the command itself: changes of folder, and variables."""
_PRINTS = re.compile(
    r"(?:cat|head|tail|sed -n|nl|less|bat|grep|rg|ag|find|wc|jq|tree|curl -s"
    r"|git (?:show|log|diff|blame|grep)|gh (?:pr|issue|api|run|repo) ?(?:view|list|diff|checks|repos\S*)?)\b"
)
"""Commands that print content of files or services and change nothing."""
_LOOKS = re.compile(r"(?:ls|ll|stat|file|which|type|pwd|curl|git (?:status|branch|remote))\b")
"""Further commands that only look something up."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_THEN = re.compile(r"&&|;")
"""Separators of commands that run one after another."""
_READING_TOOLS = re.compile(r"(?i)read|grep|glob|search|fetch|^ls$|list|view|find")


def prints_only(command: str) -> bool:
    """Does a command print the content of files or services, and change nothing?"""
    return _PRINTS.match(_BEFORE.sub("", command)) is not None


def looks_only(call: ToolCall) -> bool:
    """Does a call only look something up, so that its failure breaks nothing?"""
    if command := command_of(call):
        bare = _BEFORE.sub("", command)
        is_look = _PRINTS.match(bare) is not None or _LOOKS.match(bare) is not None
        return is_look and not _THEN.search(_QUOTED.sub("", bare))
    return not writes(call) and _READING_TOOLS.search(call.name) is not None


def command_of(call: ToolCall) -> str:
    """Return the command that a call runs in a shell, without the shell's own name; empty if it runs none."""
    if not isinstance(call.arguments, Mapping):
        return ""
    commands = filter(None, map(call.arguments.get, COMMAND_KEYS))
    command = next(commands, "")
    if not isinstance(command, list):
        command = [command]
    words = [word for word in command if isinstance(word, str)]
    if words and words[0] not in _WRAPPERS:
        return " ".join(words)
    script = [word for word in words if word not in _WRAPPERS]
    return script[0] if script else ""


_PATCHED = pattern(
    r"^(?:\*\*\* (?:Update File|Delete File|Add File|Move to): |\+\+\+ b/)(.+)$", re.MULTILINE
)


def patched_files(text: str) -> list[str]:
    """Return the files that a patch changes, in order."""
    return _PATCHED.findall(text)


def patched(call: ToolCall) -> list[str]:
    """Return the files that a patch in a call's arguments changes."""
    texts = [call.arguments]
    if isinstance(call.arguments, Mapping):
        texts = [call.arguments.get(key) for key in ("input", "patch", *COMMAND_KEYS)]
        texts = [
            text for value in texts for text in (value if isinstance(value, list) else [value])
        ]
    return [path for text in texts if isinstance(text, str) for path in patched_files(text)]


def subject_of(call: ToolCall) -> str:
    """Return what a call is about, on one line: its file, else its command, else another descriptive argument.

    Empty if no argument holds text.
    """
    arguments = call.arguments
    if isinstance(arguments, str):
        return _one_line(next(iter(patched_files(arguments)), arguments))
    if not isinstance(arguments, Mapping):
        return ""
    subject = path_of(call) or command_of(call) or first_text(arguments, _SUBJECT_KEYS)
    if not subject:
        text = first_text(arguments, arguments)
        subject = next(iter(patched_files(text)), text)
    return _one_line(subject)


def _one_line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_SUBJECT].split())
    return line if len(line) <= LONGEST_SUBJECT else line[: LONGEST_SUBJECT - 1] + "…"


_MOSTLY = 0.7
"""Smallest share of the files that must be in a folder for paths to be shown relative to it."""


class CallIndex:
    """The calls of some messages by id, with their subjects as shown: paths are relative to the most common folder."""

    def __init__(self, messages: Iterable[Message] = (), former: "CallIndex | None" = None) -> None:
        """Index the calls of some messages, in addition to those of an earlier index `former`."""
        self._calls: dict[str, ToolCall] = {} if former is None else dict(former._calls)
        self._folders: _FolderCount = _FolderCount() if former is None else former._folders.copy()
        new = {call.id: call for message in messages for call in message.calls}
        self._calls.update(new)
        self._folders.add(path_of(call) for call in new.values())
        self._folder = self._folders.find_common()

    @property
    def folder(self) -> str:
        """Return the folder that most files are in; shown paths are relative to it."""
        return self._folder

    @property
    def tool_names(self) -> set[str]:
        """Return the names of the tools that are called."""
        return {call.name for call in self._calls.values()}

    def call_of(self, message: Message) -> ToolCall | None:
        """Return the call whose result a message holds; None without a result, or if the call is not indexed."""
        result = message.result
        return self._calls.get(result.call_id) if result is not None else None

    def subject_of(self, message: Message) -> str:
        """Return what a message with calls, or with the result of a call, is about; empty for any other."""
        calls = message.calls
        answered = self.call_of(message)
        if answered is not None and not calls:
            calls = (answered,)
        subjects = dict.fromkeys(self.shown_subject(call) for call in calls)
        return ", ".join(filter(None, subjects))

    def shown_subject(self, call: ToolCall) -> str:
        """Return the subject of a call; a path is relative to the folder that most files are in."""
        subject = subject_of(call)
        return self.shown_path(subject) if subject == path_of(call) else subject

    def shown_path(self, path: str) -> str:
        """Return a path relative to the folder that most files are in."""
        return path.removeprefix(self._folder)


class _FolderCount:
    """Counts how many of some files, given by absolute path, are below each folder."""

    def __init__(self) -> None:
        self._files = set[str]()
        self._counts = Counter[str]()

    def copy(self) -> "_FolderCount":
        """Return an independent copy."""
        counts = _FolderCount()
        counts._files = set(self._files)
        counts._counts = Counter(self._counts)
        return counts

    def add(self, paths: Iterable[str]) -> None:
        """Count the folders of these paths. A path counts once; anything but an absolute path of a file is ignored."""
        files = {
            path for path in paths if path.startswith("/") and not path.endswith("/")
        } - self._files
        self._files |= files
        self._counts.update(folder for path in files for folder in _folders(path))

    def find_common(self) -> str:
        """Return the deepest folder that holds most of the files, with its last slash; empty if none does."""
        deep = [
            folder for folder, count in self._counts.items() if count >= _MOSTLY * len(self._files)
        ]
        return max(deep, key=len, default="")


def _folders(path: str) -> Iterator[str]:
    end = path.find("/", 1)
    while end > 0:
        yield path[: end + 1]
        end = path.find("/", end + 1)
