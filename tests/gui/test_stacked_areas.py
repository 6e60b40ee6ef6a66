"""Stacked areas as an image: each column of pixels is a request, the largest of those that share it."""

import pytest
from PySide6.QtGui import QColor

from inspector.gui.widgets.stacked_areas import Frame, StackedAreas

RED, BLUE, GREEN = "#ff0000", "#0000ff", "#00ff00"


def column(
    areas: StackedAreas, frame: Frame, x: int, colours: tuple[str, ...] = (RED, BLUE)
) -> list[str]:
    """The colours of a column from the foot up; empty for nothing."""
    image = areas.image(frame, colours)
    names = [image.pixelColor(x, y) for y in reversed(range(frame.height))]
    return [one.name() if one.alpha() else "" for one in names]


def test_column_shows_the_parts_of_its_request_in_their_order() -> None:
    areas = StackedAreas([[2, 4], [3, 0]])
    frame = Frame(-0.5, 1.5, 10, 2, 10)
    assert column(areas, frame, 0) == [RED] * 2 + [BLUE] * 3 + [""] * 5
    assert column(areas, frame, 1) == [RED] * 4 + [""] * 6


def test_column_of_many_requests_shows_the_largest_of_them() -> None:
    rows = [[1] * 1_000]
    rows[0][777] = 9
    areas = StackedAreas(rows)
    frame = Frame(-0.5, 999.5, 10, 50, 10)
    heights = [10 - column(areas, frame, x, (RED,)).count("") for x in range(50)]
    assert max(heights) == 9
    assert heights.count(9) == 1
    assert heights[777 // 20] == 9


def test_highest_part_below_zero_takes_from_the_parts_under_it() -> None:
    areas = StackedAreas([[6], [3], [-5]])
    frame = Frame(-0.5, 0.5, 10, 1, 10)
    assert column(areas, frame, 0, (RED, BLUE, GREEN)) == [RED] * 4 + [""] * 6


def test_requests_outside_the_chosen_ones_have_the_other_colours() -> None:
    areas = StackedAreas([[5, 5, 5]])
    image = areas.image(Frame(-0.5, 2.5, 10, 3, 10), [RED], [BLUE], range(1, 2))
    assert [image.pixelColor(x, 9) for x in range(3)] == [QColor(BLUE), QColor(RED), QColor(BLUE)]


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_wide_bars_have_a_gap_between_them(ratio: float) -> None:
    areas = StackedAreas([[5, 5]])
    width = round(40 * ratio)
    image = areas.image(Frame(-0.5, 1.5, 10, width, 10, ratio), [RED])
    empty = [x for x in range(width) if not image.pixelColor(x, 9).alpha()]
    assert len(empty) == round(ratio)
    assert empty[-1] == width // 2 - 1


def test_places_without_a_request_stay_empty() -> None:
    areas = StackedAreas([[5, 5]])
    assert column(areas, Frame(-2.5, 3.5, 10, 6, 10), 0, (RED,)) == [""] * 10
    assert column(areas, Frame(-2.5, 3.5, 10, 6, 10), 5, (RED,)) == [""] * 10
