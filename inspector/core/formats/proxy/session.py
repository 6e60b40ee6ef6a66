"""Build the session of a recording: named threads, side calls with the compactions that they led to, and notes."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.prefix import Prefix
from inspector.core.session import Problem, Session, SideCall, Thread

_MOST_NOTES = 20
_MOST_LINES = 5
"""Maximum number of line numbers in a note."""


def recorded_session(
    exchanges: Sequence[Exchange],
    conversations: Conversations,
    name: str,
    problems: Sequence[Problem],
    proxy_notes: Sequence[str],
    *,
    forwarded: bool,
) -> Session:
    """Return everything that was recorded so far.

    Args:
        exchanges: All exchanges, in the order of their requests.
        conversations: The threads of the exchanges that are steps.
        name: Id of the recording, for a session whose client names none.
        problems: What could not be read.
        proxy_notes: Notes that the proxy wrote into the recording.
        forwarded: Did our own proxy, which may change requests, write the recording?
    """
    threads, singles = split_singles([thread for thread in conversations.all if thread.steps])
    for thread in threads:
        conversations.find_parent(thread)
    names = _name_threads(threads)
    are_several = sum(thread.parent is None for thread in threads) > 1
    clients = dict.fromkeys(thread.key.client for thread in threads if thread.key.client)
    notes = list[str]()
    if are_several:
        notes.append(
            f"The recording holds several sessions: {len(threads)} threads, each with its client in its title."
        )
    notes += [*_describe_exchanges(exchanges), *proxy_notes[:_MOST_NOTES]]
    session_threads = tuple(_as_thread(thread, names, are_several, forwarded) for thread in threads)
    side_calls = _side_calls(exchanges, conversations, names, singles)
    return Session(
        "proxy",
        session_threads,
        problems,
        client=", ".join(clients),
        id=_session_id(threads) or name,
        notes=tuple(notes),
        side_calls=side_calls,
        exchanges=tuple([exchange.summary for exchange in exchanges]),
    )


def _session_id(threads: Sequence[Conversation]) -> str:
    return threads[0].key.session if threads and threads[0].key.strong else ""


# -- side calls ----------------------------------------------------------------------------------------------------


def _side_calls(
    exchanges: Sequence[Exchange],
    conversations: Conversations,
    names: Mapping[int, str],
    singles: Sequence[Conversation],
) -> Sequence[SideCall]:
    owned: list[tuple[Exchange, Conversation | None]] = []
    for exchange in (exchange for exchange in exchanges if exchange.kind):
        thread = conversations.thread_of(exchange) or conversations.find_titled(exchange)
        owned.append((exchange, thread))
    owners = _threads_by_key(conversations, names) if singles else {}
    owned += [(single.steps[0], owners.get(single.key)) for single in singles]
    owned.sort(key=lambda pair: pair[0].line)
    compactions = _compactions_by_call(conversations)
    side_calls: list[SideCall] = []
    for exchange, thread in owned:
        name, before_request = "", 0
        if thread is not None and thread.number in names:
            name = names[thread.number]
            before_request = bisect_left(thread.steps, exchange.line, key=lambda step: step.line)
        side_calls.append(exchange.side_call(name, before_request, compactions.get(id(exchange))))
    return Prefix(side_calls)


def _threads_by_key(
    conversations: Conversations, names: Mapping[int, str]
) -> dict[ClientKey, Conversation]:
    owners: dict[ClientKey, Conversation] = {}
    for thread in conversations.all:
        if thread.number in names:
            owners.setdefault(thread.key, thread)
    return owners


def _compactions_by_call(conversations: Conversations) -> dict[int, int]:
    """Return the index of the compaction to which a summary call led, by `id()` of the call's exchange."""
    indexes: dict[int, int] = {}
    for thread in conversations.all:
        for index, compaction in enumerate(thread.compactions):
            indexes.update((id(call), index) for call in compaction.calls)
    return indexes


# -- notes ---------------------------------------------------------------------------------------------------------


def _describe_exchanges(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield sentences about missing responses, requests changed at the proxy, and requests still held there."""
    missing = [exchange.line for exchange in exchanges if exchange.record is not None]
    if missing:
        lines = ", ".join(map(str, missing[:_MOST_LINES])) + (
            ", ..." if len(missing) > _MOST_LINES else ""
        )
        yield f"Line {lines}: continues a response that is not in the file; the messages before it are unknown."
    yield from _describe_changed(exchanges)
    waiting = [exchange for exchange in exchanges if _is_waiting(exchange)]
    for exchange in waiting[:_MOST_NOTES]:
        yield f"Exchange {exchange.number} (line {exchange.line}) is held: {exchange.held}."


def _is_waiting(exchange: Exchange) -> bool:
    return bool(exchange.held) and not exchange.released and exchange.reply is None


def _describe_changed(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield a sentence for each session of which a request was not forwarded as its client sent it."""
    by_session: dict[tuple[str, str], list[Exchange]] = {}
    for exchange in exchanges:
        if "sent" in exchange.figures:
            by_session.setdefault((exchange.key.client, exchange.key.session), []).append(exchange)
    for (client, session), changed in list(by_session.items())[:_MOST_NOTES]:
        owner = _owner_words(client, session)
        lead = f"{owner}: " if owner and len(by_session) > 1 else ""
        first = changed[0]
        last = changed[-1]
        if first is last:
            yield f"{lead}exchange {_place_words(first)} was not forwarded as the client sent it: {_size_words(first)}."
        else:
            yield (
                f"{lead}{len(changed):,} requests were not forwarded as the client sent them: exchange "
                f"{_place_words(first)}, {_size_words(first)}, to exchange {_place_words(last)}, {_size_words(last)}."
            )


def _owner_words(client: str, session: str) -> str:
    return " ".join(word for word in (client, session[:13]) if word)


def _place_words(exchange: Exchange) -> str:
    return f"{exchange.number} (line {exchange.line})"


def _size_words(exchange: Exchange) -> str:
    return f"{exchange.asked.view.length:,} messages became {exchange.body.view.length:,}"


# -- threads -------------------------------------------------------------------------------------------------------


def split_singles(threads: list[Conversation]) -> tuple[list[Conversation], list[Conversation]]:
    """Separate threads from single calls.

    A single call is a thread of one request without tools, if a thread with tools has the same client and session.

    Returns:
        The threads, the main one in front (the first without a parent, preferably with tools), and the single calls.
    """
    with_tools = [thread for thread in threads if thread.has_tools]
    sessions = {(thread.key.session, thread.key.client) for thread in with_tools}
    singles = list[Conversation]()
    others = list[Conversation]()
    for thread in threads:
        is_single = not thread.has_tools and len(thread.steps) == 1
        is_beside = (thread.key.session, thread.key.client) in sessions
        (singles if is_single and is_beside else others).append(thread)
    first = next((thread for thread in (*with_tools, *others) if thread.parent is None), None)
    return sorted(others, key=lambda thread: thread is not first), singles


def _name_threads(threads: Sequence[Conversation]) -> dict[int, str]:
    """Return a stable and unique id for each thread, by number of the conversation."""
    names: dict[int, str] = {}
    used: set[str] = set()
    for n, thread in enumerate(threads):
        name = "main" if n == 0 else _own_name(thread) or f"thread-{thread.number + 1}"
        if name in used:
            name = f"{name}-{thread.number + 1}"
        names[thread.number] = name
        used.add(name)
    return names


def _own_name(thread: Conversation) -> str:
    """Return the id that the client gave the thread; empty if it gave none."""
    key = thread.key
    if key.sub:
        return key.thread
    return key.session if key.strong and thread.parent is None else ""


def _as_thread(
    thread: Conversation, names: Mapping[int, str], are_several: bool, forwarded: bool
) -> Thread:
    parent = names.get(thread.parent.number, "") if thread.parent is not None else ""
    title = thread.label or thread.first_words
    if parent and not title:
        title = f"sub-agent of {parent}"
    if thread.parent is None:
        owner = _owner_words(thread.key.client, thread.key.session)
        title = f"{owner}: {title}".strip(": ") if are_several else ""
    return thread.thread(
        names[thread.number], title, parent, thread.parent_call, forwarded=forwarded
    )
