"""The commands and keys that change the buffer by hand."""

from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtWidgets import QWidget

from inspector.gui.commands import Command
from inspector.gui.desk import Desk

Deed: TypeAlias = Literal["edit", "drop", "insert"]
GROUP = "Edit"


def hand_commands(desk: Desk, window: QWidget) -> tuple[Command, ...]:
    """On the selected message; none of them does anything where nothing is open."""
    do = partial(_do, desk, window)
    return (
        Command("Edit the message…", partial(do, "edit"), ("F2",), GROUP, typed=True),
        Command("Drop the message", partial(do, "drop"), ("Del",), GROUP, typed=True),
        Command("Add a user message at the end…", partial(do, "insert"), ("Ins",), GROUP, typed=True),
    )


def _do(desk: Desk, window: QWidget, deed: Deed) -> None:
    from inspector.gui.edits.manual_edits import Hand  # the editors hang on it: loaded when first wanted

    hand = Hand(desk, window)
    {"edit": hand.edit, "drop": hand.drop, "insert": hand.insert}[deed]()
