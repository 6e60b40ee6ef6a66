"""Give the room that is left in a table to its columns."""

from collections.abc import Collection


def widen_columns(widths: dict[int, int], full: dict[int, int], room: int) -> int:
    """Widen the columns that are below their full width, from the left, while there is room.

    Args:
        widths: Width of each visible column in pixels; it is changed.
        full: Width that each column needs for its longest text.
        room: Pixels that may be added.

    Returns:
        The pixels that are still left.
    """
    for column in tuple(widths):
        missing = full.get(column, 0) - widths[column]
        added = min(room, missing)
        if added > 0:
            widths[column] += added
            room -= added
    return room


def share_room(widths: dict[int, int], columns: Collection[int], room: int) -> None:
    """Widen some columns equally by `room` pixels in all; `widths` is changed."""
    shared = 0
    for count, column in enumerate(columns, 1):
        due = room * count // len(columns)  # whole pixels, rounded so that no pixel is left over
        widths[column] += due - shared
        shared = due
