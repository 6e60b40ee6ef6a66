"""What goes on to the provider in place of a request, what is answered in its place; a request that begins to wait."""

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.cuts import cut_of
from inspector.core.dialects.recipe import Ref, carry_out
from inspector.core.dialects.rewrite import CannotRewrite, items_of, plan, with_items, with_whole
from inspector.core.jsontext import dumps
from inspector.core.tokens.prediction import Prediction
from inspector.core.usage import Usage
from inspector.proxy.clients import patience
from inspector.proxy.gate import Asked, Refuse, Why
from inspector.proxy.holds.hold import Go, Held, Hold
from inspector.proxy.holds.reading import Reading
from inspector.proxy.relay.refusals import error_body, late_error

Sizes: TypeAlias = tuple[Prediction | None, int | None, int]
"""Of the request, of its window, its messages."""
DROPPED = "Dropped at the Context Inspector proxy by the person who watches it. Nothing was sent to the provider."


def own_items(reading: Reading) -> list[Any]:
    """The items of the body itself."""
    return items_of(reading.dialect, reading.body)


def body_with(reading: Reading, items: Sequence[Any] | None) -> bytes | None:
    """The body that makes the model read `items`; None where that is the body that came. Raises CannotRewrite."""
    if items is None or _same(items, reading):
        return None
    if reading.goes_on:
        body = with_whole(reading.body, reading.held, items)
    else:
        body = with_items(reading.dialect, reading.body, items)
    return dumps(body).encode()


def _same(items: Sequence[Any], reading: Reading) -> bool:
    """Does the body that came say just that?"""
    came = [*(reading.held or ()), *own_items(reading)]
    return len(items) == len(came) and all(one is other or one == other for one, other in zip(items, came, strict=True))


def dropped(asked: Asked) -> Refuse:
    """The answer to a dropped request: an error that says so, of a kind that is not tried again."""
    status = 400
    body = error_body(asked.path, status, DROPPED)
    if asked.begun:
        body = late_error(asked.path, status, body)
    headers = (("content-type", "application/json"), ("x-should-retry", "false"))
    return Refuse(status, body, headers)


def changed(held: Held, original: Buffer, buffer: Buffer) -> Go:
    """The held request with another buffer in it. Raises CannotRewrite."""
    if held.items is None:
        raise CannotRewrite(held.shown.cannot)
    if not buffer.messages:
        raise CannotRewrite("An empty buffer cannot be sent: every provider refuses it.")
    recipes = plan(held.reading.dialect, held.items, original.messages, buffer.messages)
    if recipes == tuple(Ref((n,)) for n in range(len(held.items))):
        return Go()
    items = [carry_out(recipe, held.items) for recipe in recipes]
    body_with(held.reading, items)  # raises where it cannot be sent
    return Go(items, cut_of(held.reading.dialect, held.items, recipes))


def new_hold(
    asked: Asked, reading: Reading, why: Why, arrived: str, sizes: Sizes, usage: Usage | None, can_change: bool
) -> Hold:
    """A request that begins to wait. `usage`: what the answer before it cost."""
    asking, (size, window, messages) = asked.asking, sizes
    client = reading.key.client if reading.key.strong else asked.client or reading.key.client
    bears = patience(
        client, reading.dialect, reading.headers,
        streams=reading.streams, transport=asking.transport,
    )  # fmt: skip
    cannot = "" if can_change else "It goes on from a response that did not pass through here."
    return Hold(
        asked.exchange, asked.exchange, arrived, why, client, reading.key.session, asked.tag, reading.model,
        None if size is None else size.tokens, window, messages, time.time() + bears.limit_s, bears, cannot=cannot,
        thread=reading.thread, usage=usage, band=None if size is None else size.band,
    )  # fmt: skip
