"""What a panel is: one dock of the window that shows a State and sends intents up."""

from typing import ClassVar, Protocol

from inspector.workbench.state import State


class Panel(Protocol):
    """A QWidget with these two. It keeps nothing of its own but what the eye needs (scroll, filter)."""

    TITLE: ClassVar[str]

    def show_state(self, state: State) -> None:
        """Show `state`. Called on the GUI thread after every change; must cost nothing when nothing it shows changed."""
        ...
