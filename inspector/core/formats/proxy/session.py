"""What a recording holds: its threads by name, side calls with what came of them, notes."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.prefix import Prefix
from inspector.core.session import Problem, Session, SideCall, Thread

_NOTES = 20


def recorded_session(
    exchanges: Sequence[Exchange],
    conversations: Conversations,
    name: str,
    problems: Sequence[Problem],
    told: Sequence[str],
    *,
    forwarded: bool,
) -> Session:
    """Everything so far. `name`: of the recording; `told`: what the proxy wants said; `forwarded`: by our own proxy."""
    steps, singles = steps_and_singles([one for one in conversations.all if one.steps])
    for one in steps:
        conversations.adopt(one)
    names = _names(steps)
    several = sum(one.parent is None for one in steps) > 1
    clients = dict.fromkeys(one.key.client for one in steps if one.key.client)
    return Session(
        "proxy",
        tuple(_thread(one, names, several, forwarded) for one in steps),
        problems,
        client=", ".join(clients),
        id=(steps[0].key.session if steps and steps[0].key.strong else "") or name,
        notes=(*_sentences(exchanges, len(steps) if several else 0), *told[:_NOTES]),
        side_calls=_side_calls(exchanges, conversations, names, singles),
        exchanges=tuple([one.summary for one in exchanges]),
    )


def _side_calls(
    exchanges: Sequence[Exchange],
    conversations: Conversations,
    names: Mapping[int, str],
    singles: Sequence[Conversation],
) -> Sequence[SideCall]:
    made = {id(call): n for one in conversations.all for n, each in enumerate(one.made) for call in each.calls}
    owners: dict[ClientKey, Conversation] = {}
    for each in conversations.all if singles else ():
        if each.number in names:
            owners.setdefault(each.key, each)
    found = [(one, conversations.thread_of(one) or conversations.named_by(one)) for one in exchanges if one.kind]
    found += [(single.steps[0], owners.get(single.key)) for single in singles]
    told: list[SideCall] = []
    for one, thread in sorted(found, key=lambda pair: pair[0].line):
        name = names.get(thread.number, "") if thread is not None else ""
        before = bisect_left(thread.steps, one.line, key=lambda step: step.line) if thread is not None and name else 0
        told.append(one.side_call(name, before, made.get(id(one))))
    return Prefix(told)


def _sentences(exchanges: Sequence[Exchange], several: int) -> Iterator[str]:
    if several:
        yield f"The recording holds several sessions: {several} threads, each with its client in its title."
    if missing := [one.line for one in exchanges if one.record is not None]:
        lines = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        yield f"Line {lines}: goes on from a response that is not in the file; what was before is unknown."
    yield from _rewritten(exchanges)
    waiting = [one for one in exchanges if one.held and not one.released and one.reply is None]
    yield from (f"Exchange {one.number} (line {one.line}) is held: {one.held}." for one in waiting[:_NOTES])


def _rewritten(exchanges: Sequence[Exchange]) -> list[str]:
    """A sentence for each session of which something was forwarded otherwise than its client sent it."""
    found: dict[tuple[str, str], list[Exchange]] = {}
    for one in exchanges:
        if "sent" in one.noted:
            found.setdefault((one.key.client, one.key.session), []).append(one)
    told: list[str] = []
    for (client, session), those in list(found.items())[:_NOTES]:
        whose = " ".join(word for word in (client, session[:13]) if word)
        lead = f"{whose}: " if whose and len(found) > 1 else ""
        first, last = those[0], those[-1]
        if first is last:
            told.append(f"{lead}exchange {_place(first)} was not forwarded as the client sent it: {_sizes(first)}.")
        else:
            told.append(
                f"{lead}{len(those):,} requests were not forwarded as the client sent them: exchange "
                f"{_place(first)}, {_sizes(first)}, to exchange {_place(last)}, {_sizes(last)}."
            )
    return told


def _place(one: Exchange) -> str:
    return f"{one.number} (line {one.line})"


def _sizes(one: Exchange) -> str:
    return f"{one.asked.view.length:,} messages became {one.body.view.length:,}"


def steps_and_singles(found: list[Conversation]) -> tuple[list[Conversation], list[Conversation]]:
    """The threads, that of the first real work in front, and the single calls without tools beside such work of the
    same client's session (or, without keys, of the same scope)."""
    worked = [one for one in found if one.worked]
    sessions = {(one.key.session, one.key.client) for one in worked}
    singles, steps = list[Conversation](), list[Conversation]()
    for one in found:
        is_single = not one.worked and len(one.steps) == 1 and (one.key.session, one.key.client) in sessions
        (singles if is_single else steps).append(one)
    first = next((one for one in (*worked, *steps) if one.parent is None), None)
    return sorted(steps, key=lambda one: one is not first), singles


def _names(steps: Sequence[Conversation]) -> dict[int, str]:
    """Thread id by number of the conversation: stable, unique."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for n, one in enumerate(steps):
        own = one.key.thread if one.key.sub else one.key.session if one.key.strong and one.parent is None else ""
        name = "main" if n == 0 else own or f"thread-{one.number + 1}"
        names[one.number] = name if name not in taken else f"{name}-{one.number + 1}"
        taken.add(names[one.number])
    return names


def _thread(one: Conversation, names: Mapping[int, str], several: bool, forwarded: bool) -> Thread:
    parent = names.get(one.parent.number, "") if one.parent is not None else ""
    title = one.label or one.asked or (f"sub-agent of {parent}" if parent else "")
    if one.parent is None:
        whose = " ".join(word for word in (one.key.client, one.key.session[:13]) if word)
        title = f"{whose}: {title}".strip(": ") if several else ""
    return one.thread(names[one.number], title, parent, one.parent_call, forwarded=forwarded)
