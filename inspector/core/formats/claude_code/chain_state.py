"""The chain of one agent's nodes: what the agent's next call sends, and the requests made so far.

A record that descends from the last model call is appended to the chain. A record whose parent lies before that call is
a rewind: the chain continues from the parent on a new stretch. A record with an unknown parent follows the previous
record of the file. No record continues from a node before the latest boundary.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from inspector.core.buffer import NOT_IN_FILE, Prompt, Stretch, View
from inspector.core.formats.claude_code.chain_nodes import (
    AnswerNode,
    ChainNode,
    last_prompt,
    travelling_together,
)
from inspector.core.formats.claude_code.records import numbers
from inspector.core.formats.claude_code.sent import SentRequests
from inspector.core.formats.claude_code.unrecorded import (
    CLEARED,
    VERSIONS,
    inferred,
    keeps_thinking,
    without_thinking,
)
from inspector.core.message import Message, Text, ToolResult
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request


class MessageLayout:
    """The stretch to which messages are appended, and the replacement texts of its messages."""

    def __init__(self) -> None:
        self.stretch = Stretch()
        self.turn = 0
        """Index of the message that began the turn; thinking before that index was removed."""
        self._new_texts: dict[str, str] = {}
        """Replacement text of tool results, by call id, and of other messages, by id."""
        self._places: dict[str, tuple[int, Message]] | None = None
        """Index and message by call id (tool results) or message id (others); None until the first rewriting."""

    def lay(self, messages: Iterable[Message]) -> None:
        """Append messages to the stretch, with their replacement texts."""
        length = len(self.stretch)
        sent = list(map(self.as_sent, messages)) if self._new_texts else messages
        self.stretch.append(*sent)
        if self._places is not None:
            self._note_places(sent, length)

    def begin(self, stretch: Stretch, turn: int = 0) -> None:
        """Continue with another stretch."""
        self.stretch, self.turn, self._places = stretch, turn, None

    def go_back(self, view: View, turn: int) -> None:
        """Continue from an earlier buffer. Replacement texts stay in force."""
        if self._new_texts and self.stretch.view().rewritten_since(view):
            view = View(self.stretch, view.length)
        self.begin(Stretch(view), turn)

    def begin_turn(self, turn: int) -> int:
        """Remove the thinking before the index `turn`. Return the number of messages that held nothing else."""
        whole = self.stretch
        self.stretch, removed = without_thinking(whole, self.turn, turn)
        self.turn = turn - removed
        if self.stretch is not whole and self._places is not None and self.stretch.base is not None:
            at = self.stretch.base.length
            for message in whole.view().tail(at):
                self._places.pop(_key(message), None)
            self._note_places(self.stretch.own, at)
        return removed

    def rewrite(self, texts: Mapping[str, str]) -> list[Message]:
        """Replace the texts of these messages from now on. Return the changed messages of the stretch, in order."""
        self._new_texts.update(texts)
        if self._places is None:
            self._note_places(self.stretch.view().messages(), start=0)
        assert self._places is not None
        rewritten: dict[int, tuple[Message, Message]] = {}
        for key in texts:
            at, message = self._places.get(key, (0, None))
            if message is not None and (sent := self.as_sent(message)) is not message:
                self._places[key], rewritten[at] = (at, sent), (message, sent)
        if rewritten:
            self.stretch = Stretch(self.stretch.view(), rewritten=rewritten)
        return [rewritten[at][1] for at in sorted(rewritten)]

    def as_sent(self, message: Message) -> Message:
        """Return the message with its replacement text, if it has one."""
        if not self._new_texts:
            return message
        text = self._new_texts.get(_key(message))
        result = message.result
        if text is None or text == message.text or (result is not None and text == result.content):
            return message
        part = Text(text) if result is None else ToolResult(result.call_id, text, result.is_error)
        return replace(message, parts=(part,), mark="placeholder")

    def _note_places(self, messages: Iterable[Message], start: int) -> None:
        if self._places is None:
            self._places = {}
        for at, message in enumerate(messages, start):
            self._places[_key(message)] = (at, message)


def _key(message: Message) -> str:
    """Return the key of a message for replacement texts: the call id of a tool result, else the message id."""
    result = message.result
    return message.id if result is None else result.call_id


class ChainState:
    """The messages, calls and compactions of one agent, from the records read so far."""

    def __init__(self) -> None:
        self.prompt: Prompt = NOT_IN_FILE
        self.epoch = 0
        """Number of boundaries so far."""
        self.tail = self.start = ChainNode()
        self.nodes: dict[str, ChainNode] = {}
        """The node to which a record belongs, or which it follows, by uuid of the record."""
        self.calls: dict[str, AnswerNode] = {}
        """Answers by message id."""
        self.tools: dict[str, AnswerNode] = {}
        """The answer that made a tool call, by id of the tool call."""
        self.strays: dict[str, Message] = {}
        """Results of tool calls that are not in the file, by call."""
        self.uuids_by_words: dict[tuple[str, str], str] = {}
        """uuid of the first user record with a given time and text, by time and text."""
        self.waiting: dict[str, list[ChainNode]] = {}
        """Nodes from before a boundary whose parent was not read yet, by uuid of that parent."""
        self.keeping: Callable[[], None] | None = None
        """Appends the messages that the last boundary keeps; called once, after the boundary's summary."""
        self.linked = False
        """True once a record has named a parent that is in the file."""
        self.listed = False
        """True if the order of the file alone counts and parent links are ignored (iFlow)."""
        self.sent: SentRequests | None = None
        """The requests as they were sent; None if the file does not record them."""
        self.request = ""
        """Id of the `api-request` record of the next call; empty if not recorded."""
        self._counted: set[str] = set()
        """Ids of all messages in `_messages`."""
        self._messages: list[Message] = []
        self._requests: list[Request] = []
        self._compactions: list[Compaction] = []
        self._laid = MessageLayout()
        self._pending: list[ChainNode] = []
        self._open: AnswerNode | None = None
        """The last call, which may still get more lines; None if there is none."""
        self._compaction: Compaction | None = None
        """The last compaction, whose summary and kept messages may still follow; None if there is none."""
        self._typed: tuple[ChainNode, ChainNode] | None = None
        """The last typed prompt, and its parent node."""

    def place(self, node: ChainNode, on: ChainNode) -> None:
        """Append a node to the chain: after the last node, or after `on` if `on` lies before the last call."""
        if self.keeping is not None:
            keeping, self.keeping = self.keeping, None
            keeping()
        if on.epoch != self.epoch:
            on = self.tail
        elif on.anchor is not self.tail.anchor:
            self._go_back(on)
        before = self.tail
        node.epoch, node.prev, node.anchor = self.epoch, before, before.anchor
        if before.waits and before.stretch is None:
            node.waits = node.waits or before.waits
        if isinstance(node, AnswerNode) and node.real:
            node.anchor = object()
            self._begin(node)
        self._pending.append(node)
        self.tail = node

    def place_prompt(self, node: ChainNode, on: ChainNode) -> None:
        """Append a typed prompt to the chain. It replaces an unanswered prompt with the same parent."""
        if self._typed is not None:
            prompt, parent = self._typed
            last_call = self.tail.anchor
            is_unanswered = prompt.anchor is last_call and on.anchor is last_call
            if parent is on and is_unanswered:
                self._go_back(on)
        self.place(node, on)
        self._typed = (node, on)

    def name(self, uuid: str) -> str:
        """Return the message id of a record: its uuid, with `~` appended if an answer has that id."""
        return f"{uuid}~" if uuid in self.calls else uuid

    def _begin(self, call: AnswerNode) -> None:
        """Begin a model call: the messages now in the chain are what the model was sent."""
        former = self._open if self._compaction is None else None
        self._settle()
        if not self._lay_as_sent():
            pending = self._pending
            self._lay()
            if former is not None and former.model == call.model:
                self._infer_clearing(former, call)
            self._begin_turn(pending, call.model)
        self._open, call.sent, call.prompt = call, self._laid.stretch.view(), self.prompt

    def _infer_clearing(self, former: AnswerNode, call: AnswerNode) -> None:
        """Clear old tool results if the usage shows that the client cleared them since the previous call."""
        if not VERSIONS[0] <= numbers(call.version) <= VERSIONS[1]:
            return
        clearing = inferred(
            (former.usage(), former.sent), (call.usage(), self._laid.stretch.view())
        )
        if clearing is not None:
            compaction, ids = clearing
            self.clear(replace(compaction, line=call.line, time=call.time), ids)

    def _begin_turn(self, laid: Sequence[ChainNode], model: str) -> None:
        """Begin a turn at the last prompt among these nodes: remove earlier thinking if the model does not keep it."""
        first = None if keeps_thinking(model) else last_prompt(laid)
        if first is None:
            return
        removed = self._laid.begin_turn(laid[first].end - len(laid[first].messages))
        for node in laid[first:]:
            node.stretch, node.end, node.turn = (
                self._laid.stretch,
                node.end - removed,
                self._laid.turn,
            )

    def _go_back(self, on: ChainNode) -> None:
        self._lay()
        self._laid.go_back(on.view(), on.turn)
        self.tail = on

    def _settle(self) -> None:
        """Add the last call and the last compaction to the lists, because they are complete."""
        if self._open is not None:
            self._requests.append(self._as_request(self._open))
            self._open = None
        if self._compaction is not None:
            self._compactions.append(self._compaction)
            self._compaction = None

    def _as_request(self, call: AnswerNode) -> Request:
        return Request(
            index=len(self._requests),
            view=call.sent,
            prompt=call.prompt,
            usage=call.usage(),
            model=call.model,
            time=call.time,
            finish=call.finish,
            line=call.line,
            edits=call.edits,
        )

    def _lay(self) -> None:
        """Append the messages of the pending nodes to the stretch, because the nodes are complete."""
        drafts = [node.drafts() for node in self._pending]
        laid = travelling_together(list(chain.from_iterable(drafts)))
        stretch, start, length = self._laid.stretch, 0, len(self._laid.stretch)
        for node, messages in zip(self._pending, drafts, strict=True):
            end = start + len(messages)
            node.messages = tuple(laid[start:end])
            node.stretch, node.end, node.turn = stretch, length + end, self._laid.turn
            self._count(
                message
                for message in node.messages
                if not node.again or message.id not in self._counted
            )
            start = end
        self._laid.lay(laid)
        self._pending = []

    def _count(self, messages: Iterable[Message]) -> None:
        """Add new messages to the list of all messages."""
        new = list(messages)
        self._messages += new
        self._counted.update(message.id for message in new)

    def _lay_as_sent(self) -> bool:
        """Append the messages that the file records as sent, named by the pending nodes. False if not recorded."""
        if self.sent is None or not self.request:
            return False
        drafts = self._drafts()
        recorded = self.sent.view(self.request, self._laid.stretch, map(self._laid.as_sent, drafts))
        if recorded is None:
            return False
        view, end = recorded
        new = view.tail(end)
        places = {message.id: at for at, message in enumerate(new, end + 1)}
        self._count_as_sent(drafts, new)
        self._laid.begin(
            view.stretch if len(view.stretch) == view.length else Stretch(view), self._laid.turn
        )
        for node in self._pending:
            node.messages = tuple(node.drafts())
            end = (
                max(places.get(message.id, end) for message in node.messages)
                if node.messages
                else end
            )
            node.stretch, node.end, node.turn = self._laid.stretch, end, end
        self._laid.turn = end
        self._pending = []
        return True

    def _count_as_sent(self, drafts: Sequence[Message], sent: Sequence[Message]) -> None:
        """Add the unsent messages except attachments, then the sent messages, to the list of all messages."""
        again = {message.id for node in self._pending if node.again for message in node.drafts()}
        sent_ids = {message.id for message in sent}
        unsent = [
            message
            for message in drafts
            if message.mark != "attachment" and message.id not in sent_ids
        ]
        for message in (*unsent, *sent):
            if message.id not in self._counted and message.id not in again:
                self._count([message])

    # ---- compactions -----------------------------------------------------------------------------------------------

    def cut(self, compaction: Compaction) -> list[ChainNode]:
        """Begin a new buffer at a boundary. Return the nodes before it whose parent may follow the boundary."""
        waiting = [node for node in self._pending if node.waits]
        micro, self._compaction = self._compaction, None
        if micro is not None and (
            micro.kind != "micro" or micro.before_request < self._next_index()
        ):
            self._compactions.append(micro)
            micro = None
        self._settle()
        self._lay()
        # No call came between the two compactions, so they become one.
        cleared = micro.cleared if micro is not None else ()
        self._compaction = replace(compaction, before_request=len(self._requests), cleared=cleared)
        self._laid.begin(Stretch())
        self.epoch += 1
        self.start = self.tail = ChainNode()
        self.start.epoch, self.start.stretch = self.epoch, self._laid.stretch
        self._typed = None
        return waiting

    def keep(self, node: ChainNode) -> None:
        """Append a copy of a node that the last boundary keeps."""
        self.place(node, self.tail)
        if self._compaction is not None:
            self._compaction = replace(
                self._compaction, kept=self._compaction.kept + len(node.drafts())
            )

    def awaits_summary(self) -> bool:
        """Does the last boundary still lack its summary? Also True for an empty chain."""
        if self._compaction is None or self._compaction.kind != "summary":
            return self.tail is self.start
        return self._compaction.summary is None

    def set_summary(self, summary: Message) -> None:
        """Set the summary of the last boundary."""
        if self._compaction is not None and self._compaction.summary is None:
            self._compaction = replace(self._compaction, summary=summary)

    def clear(self, compaction: Compaction, ids: Sequence[str], saved: int = 0) -> None:
        """Replace tool results and other messages with a placeholder: a micro-compaction.

        Args:
            compaction: The compaction to record.
            ids: Call ids of tool results, and ids of other messages.
            saved: The client's estimate of the tokens of all of them.
        """
        cleared = self.rewrite(dict.fromkeys(ids, CLEARED))
        missing = max(0, len(ids) - len(cleared))
        unrecorded = saved * missing // len(ids) if ids else saved
        if self._compaction is not None:
            self._compactions.append(self._compaction)
        before = self._next_index()
        self._compaction = replace(
            compaction, before_request=before, cleared=cleared, unrecorded=unrecorded
        )

    def _next_index(self) -> int:
        return len(self._requests) + (self._open is not None)

    def rewrite(self, texts: Mapping[str, str]) -> tuple[str, ...]:
        """Replace the texts of these messages from now on. Return the ids of the messages that are in the buffer."""
        changed = self._laid.rewrite(texts)
        for node in self._pending:
            changed += [draft for draft in node.drafts() if self._laid.as_sent(draft) is not draft]
        return tuple(message.id for message in changed)

    # ---- the state so far ------------------------------------------------------------------------------------------

    def _drafts(self) -> list[Message]:
        return travelling_together(
            list(chain.from_iterable(node.drafts() for node in self._pending))
        )

    def messages(self) -> Sequence[Message]:
        """Return all messages, each once."""
        return Prefix(
            self._messages,
            then=[draft for draft in self._drafts() if draft.id not in self._counted],
        )

    def requests(self) -> Sequence[Request]:
        """Return every model call so far."""
        return Prefix(
            self._requests, then=[self._as_request(self._open)] if self._open is not None else []
        )

    def compactions(self) -> Sequence[Compaction]:
        """Return every recorded compaction."""
        return Prefix(
            self._compactions, then=[self._compaction] if self._compaction is not None else []
        )

    def end(self) -> View:
        """Return the buffer that the next call would send."""
        drafts = [self._laid.as_sent(message) for message in self._drafts()]
        stretch = Stretch(self._laid.stretch.view(), drafts) if drafts else self._laid.stretch
        first = last_prompt(self._pending)
        if first is not None and self._open is not None and not keeps_thinking(self._open.model):
            turn = len(stretch) - sum(len(node.drafts()) for node in self._pending[first:])
            stretch, _ = without_thinking(stretch, self._laid.turn, turn)
        return stretch.view()

    def is_empty(self) -> bool:
        """True if no record was added to the chain yet."""
        return self.tail is self.start and self.epoch == 0
