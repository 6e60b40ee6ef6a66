"""Views of the first items of a list: they read as the tuple of those items does."""

from itertools import product

import pytest

from inspector.core.prefix import Prefix


@pytest.mark.parametrize("length", [0, 2, 5])
def test_slice_of_a_prefix_with_items_after_it_is_that_of_the_tuple(length: int) -> None:
    prefix = Prefix(list(range(8)), length, then=(100, 101, 102))
    items = tuple(prefix)
    bounds = (None, -9, -4, -1, 0, 1, 4, 5, 6, 9)
    for start, stop, step in product(bounds, bounds, (None, 1, 2, -1)):
        assert prefix[start:stop:step] == items[start:stop:step]


def test_item_of_a_prefix_is_that_of_the_tuple() -> None:
    prefix = Prefix(list(range(8)), 3, then=(100,))
    assert [prefix[place] for place in (-4, -1, 0, 2, 3)] == [0, 100, 0, 2, 100]
    for outside in (-5, 4):
        with pytest.raises(IndexError):
            prefix[outside]
