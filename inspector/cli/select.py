"""Select the session, thread and request of a command: the options that all commands share."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.cli.output import note, progress_line
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.core.policies.harness import Policy
from inspector.core.policies.place import believed_at, own_pairs, settings_for
from inspector.core.policies.settings import SettingPairs
from inspector.core.session import BEGINS_LATE, Session, Thread
from inspector.core.tokens.windows import Window, find_window
from inspector.core.untyped import digits_of
from inspector.extensions.formats import all_formats
from inspector.extensions.policies import all_policies, find_policy, is_file
from inspector.extensions.windows import user_windows
from inspector.transcripts.files import find_session_path, open_transcript


class WrongSelection(InspectorError):
    """The transcript does not hold the selected thread or request."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A thread of a session and a place in it: `at` is the index of a request, or the number of requests for the
    end.
    """

    session: Session
    thread: Thread
    at: int

    @property
    def is_end(self) -> bool:
        """Is the selection the buffer after the last record, not that of a request?"""
        return self.at >= len(self.thread.requests)

    @property
    def request(self) -> int | None:
        """Return the index of the request; None at the end."""
        return None if self.is_end else self.at

    def window(self, user: int | None) -> Window:
        """Return the model's window at that place.

        Args:
            user: The user's window in tokens; None uses the model's own.
        """
        return find_window(self.session, self.thread, self.request, user, user_windows())

    @property
    def buffer(self) -> Buffer:
        """Return the buffer at that place, with all its messages."""
        return self.thread.place(self.at).buffer()


def _parse_request(text: str) -> int | str:
    if text == "end":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor `end`") from None


def format_name(text: str) -> str:
    """Return the name of a format, for argparse."""
    names = [format_.name for format_ in all_formats()[0]]
    if text not in names:
        raise argparse.ArgumentTypeError(f"unknown format {text!r}; known: {', '.join(names)}")
    return text


def policy_name(text: str) -> str:
    """Return the name of a policy, or of a file that holds one, for argparse."""
    if not is_file(text) and text.lower() not in all_policies()[0]:
        raise argparse.ArgumentTypeError(
            f"unknown policy {text!r}; known: {', '.join(all_policies()[0])}"
        )
    return text


def setting_pair(text: str) -> tuple[str, str]:
    """Return (key, value) of KEY=VALUE, for argparse."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def positive(text: str) -> int:
    """Return a whole number above 0, for argparse."""
    number = digits_of(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def tokens(text: str) -> int:
    """Return a number of tokens (200000, 200_000, 200k, 1m), for argparse."""
    digits = text.lower().replace("_", "").replace(",", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(digits[-1:], 1)
    try:
        count = int(digits[:-1] if factor > 1 else digits) * factor
    except ValueError:
        count = 0
    if count <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens above 0")
    return count


_SHARED: Mapping[str, Mapping[str, Any]] = {
    "--session": {
        "metavar": "N|ID",
        "help": "the session, if the file or folder has several (see `info`)",
    },
    "--thread": {"metavar": "ID", "default": "main", "help": "the thread (default: main)"},
    "--at": {
        "metavar": "N",
        "type": _parse_request,
        "help": "the request: 0-based, negative from the end, or `end`",
    },
    "--format": {"metavar": "NAME", "type": format_name, "help": "read the file as this format"},
    "--policy": {
        "metavar": "NAME",
        "action": "append",
        "type": policy_name,
        "help": "the policy, or your own: x.py",
    },
    "--set": {
        "metavar": "KEY=VALUE",
        "action": "append",
        "type": setting_pair,
        "help": "a setting of the policy",
    },
    "--window": {
        "metavar": "N",
        "type": tokens,
        "help": "the model's window in tokens (200000, 200k, 1m)",
    },
    "--json": {"action": "store_true", "help": "print one JSON document"},
    "--pin": {
        "metavar": "TEXT",
        "action": "append",
        "default": [],
        "help": "a text that should stay in context; repeatable",
    },
    "--mode": {"choices": ("faithful", "safe"), "default": "faithful", "help": "default: faithful"},
    "--remote": {"action": "store_true", "help": "assume that the provider can compact remotely"},
    "--answerer": {
        "metavar": "WHO",
        "default": "offline",
        "help": "offline, anthropic, openai, or a URL",
    },
    "--model": {
        "metavar": "NAME",
        "default": "",
        "help": "the model that answers (default: the session's)",
    },
    "--force": {"action": "store_true", "help": "replace an existing file"},
}


def add_options(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Add options that several commands share. `changes` overrides their definitions for this command."""
    for name in names:
        parser.add_argument(name, **{**_SHARED[name], **changes})


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add FILE and the options that every command on a transcript has."""
    parser.add_argument("file", metavar="FILE", help="a transcript, or an API request body")
    add_options(
        parser,
        "--session",
        "--thread",
        "--at",
        "--format",
        "--policy",
        "--set",
        "--window",
        "--json",
    )


def select(arguments: argparse.Namespace) -> Selection:
    """Open the file and find the selected thread and request. Raises InspectorError."""
    if arguments.session is None:
        path = Path(arguments.file)
    else:
        path = find_session_path(Path(arguments.file), arguments.session)
    session = open_transcript(path, format=arguments.format, progress=progress_line())
    thread = thread_of(session, arguments.thread)
    if thread.begins_late:
        note(BEGINS_LATE)
    return Selection(session, thread, find_request_place(thread, arguments.at))


def chosen_policy(arguments: argparse.Namespace) -> Policy[Any, Any]:
    """Return the selected policy, or the default one. Raises InspectorError."""
    names = arguments.policy or [DEFAULT_POLICY]
    if len(names) > 1:
        raise InspectorError("Give one --policy here; replay compares several.")
    return find_policy(names[0])


def chosen_pairs(arguments: argparse.Namespace, *policies: Policy[Any, Any]) -> SettingPairs:
    """Return the selected settings: those of `--set`, then `--mode` if a policy has that setting."""
    pairs: SettingPairs = tuple(arguments.set or ())
    mode = ("mode", arguments.mode)
    if arguments.mode == "safe" or any(own_pairs(policy, (mode,)) for policy in policies):
        return (*pairs, mode)
    return pairs


def policy_count(
    policy: Policy[Any, Any],
    pairs: SettingPairs,
    session: Session,
    thread: Thread,
    at: int,
    window: Window,
) -> int:
    """Return the policy's own count of request `at` in tokens. Of `pairs`, only settings that the policy has are
    used.
    """
    settings = settings_for(policy, own_pairs(policy, pairs), window, session.client)
    return believed_at(policy, settings, thread, at)


def with_settings(
    policies: Sequence[Policy[Any, Any]], pairs: SettingPairs, window: Window, client: str = ""
) -> list[tuple[Policy[Any, Any], Any]]:
    """Return each policy with its settings: the preset ones, and those of `pairs` that it has.

    Raises:
        InspectorError: None of the policies has one of the settings.
    """
    for pair in pairs if policies else ():
        if not any(own_pairs(policy, (pair,)) for policy in policies):
            policies[-1].settings((pair,), window.tokens)
    return [
        (policy, settings_for(policy, own_pairs(policy, pairs), window, client))
        for policy in policies
    ]


def thread_of(session: Session, name: str) -> Thread:
    """Return the thread with an id. Raises WrongSelection, which lists the ids."""
    if name == "main":
        return session.main
    try:
        return session.thread(name)
    except KeyError:
        ids = ", ".join(thread.id for thread in session.threads[:20])
        more = ", ..." if len(session.threads) > 20 else ""
        raise WrongSelection(
            f"there is no thread {name!r}; this session has {ids or 'none'}{more}."
        ) from None


def find_request_place(thread: Thread, at: int | str | None) -> int:
    """Return the index of the selected request; the number of requests for `end`. Raises WrongSelection."""
    count = len(thread.requests)
    if at == "end" or (at is None and not count):
        return count
    index = count - 1 if at is None else int(at)
    if index < 0:
        index += count
    if 0 <= index < count:
        return index
    if not count:
        raise WrongSelection(f"thread {thread.id!r} has no requests; only --at end can be shown.")
    raise WrongSelection(
        f"there is no request {at}: --at goes from 0 to {count - 1}, from -{count} to -1, or is `end`."
    )
