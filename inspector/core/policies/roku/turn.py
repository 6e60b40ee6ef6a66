"""One turn: compaction where it is due, the model call, its tools (spec 1.4, 1.10, 1.12).

The turn is a conversation like a tier: it also yields AskModel and RunTools. Who drives it (the live agent, a replay,
a test) answers them.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, Failure, Need, SaveText
from inspector.core.policies.book import Book, Turn, calls_of
from inspector.core.policies.policy import Moment, Verdict
from inspector.core.policies.roku.cache_break import CacheBreak
from inspector.core.policies.roku.microcompact import microcompact
from inspector.core.policies.roku.order import high_tier, mid_tier, react
from inspector.core.policies.roku.records import StepRecord
from inspector.core.policies.roku.running import Running, raw_tokens
from inspector.core.policies.roku.settings import Settings
from inspector.core.policies.roku.verdicts import verdicts
from inspector.core.tokens.roku import estimate

TRUNCATED = ("max_tokens", "length")


def turn(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment
) -> Generator[Need, Answer, Turn[Running]]:
    """Run one turn. Fails (in `error`) on the second overflow, and at once on any other error of the model."""
    return (yield from play(Book(buffer, running), settings, moment))


def play(book: Book[Running], settings: Settings, moment: Moment) -> Generator[Need, Answer, Turn[Running]]:
    """The same on a book that may be watched."""
    reactive = False
    while True:
        yield from _before_call(book, settings, moment, reactive)
        book.running = replace(
            book.running, detector=book.running.detector.record_prompt_state(book.buffer.prompt, moment.model)
        )
        try:
            answer = yield from book.ask(moment.max_tokens)
            break
        except ContextWindowExceeded as overflow:
            if reactive:
                return book.closed(error=f"context window exceeded again after compaction: {overflow}")
            reactive = True
            over = replace(moment, overflow=str(overflow) or "context window exceeded")
            _about(book, settings, over, "L4")
            book.apply((yield from react(book.buffer, settings, book.running, over)))
        except Failure as failure:
            return book.closed(error=str(failure) or type(failure).__name__)
    yield from _after_call(book, settings, moment, answer)
    answer = yield from _escalated(book, settings, moment, answer)
    yield from _tools(book, settings, moment, answer)
    if settings.placement == "end_of_turn":
        yield from _high_tier(book, settings, moment)
    return book.closed(answer)


def _about(book: Book[Running], settings: Settings, moment: Moment, *tiers: str) -> None:
    def look(buffer: Buffer, running: Running) -> tuple[Verdict, ...]:
        return verdicts(buffer, settings, running, moment)

    book.about(look, tiers)


def _before_call(
    book: Book[Running], settings: Settings, moment: Moment, reactive: bool
) -> Generator[Need, Answer, None]:
    cold = moment.idle_s is not None and moment.idle_s > settings.cache_ttl_s
    if settings.l0_gate == "always" or (cold and not reactive):
        _about(book, settings, moment, "L0")
        book.apply(microcompact(book.buffer, settings, book.running, moment))
    if reactive:
        return
    _about(book, settings, moment, "L1", "L2")
    book.apply(*(yield from mid_tier(book.buffer, settings, book.running, moment)))
    if settings.placement == "preflight":
        yield from _high_tier(book, settings, moment)


def _high_tier(book: Book[Running], settings: Settings, moment: Moment) -> Generator[Need, Answer, None]:
    _about(book, settings, moment, "L3a", "L3b")
    book.apply(*(yield from high_tier(book.buffer, settings, book.running, moment)))


def _after_call(
    book: Book[Running], settings: Settings, moment: Moment, answer: Answer
) -> Generator[Need, Answer, None]:
    """Calibrate and watch the cache. The event is sent even where no usage was reported."""
    usage, raw = answer.usage, raw_tokens(book.buffer)  # what was really sent: somebody may have edited it
    before = book.running.calibration.apply(raw)
    calibration = book.running.calibration.update(raw, usage.prompt if usage else 0)
    book.running = replace(book.running, calibration=calibration)
    book.tell(
        "EstimatorCalibrated",
        step=moment.step,
        estimated_prompt_tokens=before,
        prompt_tokens=usage.prompt if usage else 0,
        scale=calibration.scale,
    )
    detector, found = book.running.detector.check_response(usage.cache_read if usage else 0)
    book.running = replace(
        book.running, detector=detector, breaker=book.running.breaker.good_turn(settings.breaker_recovery_after)
    )
    if found is not None:
        yield from _tell_break(book, moment, found)


def _tell_break(book: Book[Running], moment: Moment, found: CacheBreak) -> Generator[Need, Answer, None]:
    changed = ", ".join(found.changed)
    text = f"step {moment.step}: {found.tokens_lost} cached tokens lost; changed: {changed}\n"
    try:
        path = (yield SaveText(text, "cache-break")).text
    except Failure:  # a diagnostic that cannot be written is ignored
        path = ""
    book.tell(
        "CacheBreakDetected",
        step=moment.step,
        reason="cache_read_drop",
        tokens_lost=found.tokens_lost,
        component_changed=changed,
        diagnostic_path=path,
    )


def _escalated(
    book: Book[Running], settings: Settings, moment: Moment, answer: Answer
) -> Generator[Need, Answer, Answer]:
    """A truncated answer is asked for once more with the model's full output budget."""
    if answer.finish not in TRUNCATED:
        return answer
    if not moment.output_cap:
        book.tell("OutputSlotEscalationUnsupported")
        return answer
    asked, ceiling = moment.max_tokens, moment.output_ceiling
    if asked is None or ceiling is None or ceiling <= asked:
        return answer
    book.tell(
        "OutputSlotEscalated",
        step=moment.step,
        initial_max_tokens=asked,
        escalated_max_tokens=ceiling,
        model_id=moment.model,
    )
    try:
        repeated = yield from book.ask(ceiling, stream=False)
    except Failure:
        return answer
    yield from _after_call(book, settings, moment, repeated)
    return repeated


def _tools(book: Book[Running], settings: Settings, moment: Moment, answer: Answer) -> Generator[Need, Answer, None]:
    book.add(answer.messages)
    results: Sequence[Message] = ()
    if calls := calls_of(answer):
        results = yield from book.run(calls)
        book.add(results)
        spent = sum(estimate(m.result.content) for m in results if m.result)
        exceeded = spent > settings.per_turn_tool_budget_tokens
        book.tell("ToolBudgetCheck", step=moment.step, per_turn_tool_tokens=spent, exceeded=exceeded)
    book.running = replace(book.running, history=(*book.running.history, *_records(moment.step, answer, results)))


def _records(step: int, answer: Answer, results: Sequence[Message]) -> list[StepRecord]:
    """What LoopState.history keeps of the turn: a record a call, or one for the final answer."""
    said = "\n".join(message.text for message in answer.messages)
    names = {call.id: call.name for message in answer.messages for call in message.calls}
    if not names:
        return [StepRecord(step, None, "", "final", message=said)]
    found = [m.result for m in results if m.result is not None]
    return [StepRecord(step, names.get(one.call_id), said, "tool", not one.is_error, one.content) for one in found]
