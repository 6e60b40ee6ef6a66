"""What stands at a place of a thread, and strings in foreign JSON."""

import pytest

from inspector.core.untyped import texts_at
from tests.core.sessions import said


@pytest.mark.parametrize(("at", "index"), [(0, 0), (1, 1), (2, 2), (7, 2), (None, 2)])
def test_after_the_last_request_stands_what_the_next_call_would_be(at: int | None, index: int) -> None:
    thread = said(("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four"))
    assert len(thread.requests) == 2
    found = thread.place(at)
    assert found.index == index
    if index < 2:
        assert found is thread.requests[index]
    else:
        assert found.view.messages() == thread.end.messages()


def test_only_strings_are_texts() -> None:
    assert texts_at({"a": ["x", 1, None, "y", ["z"]]}, "a") == ["x", "y"]
    assert texts_at({"a": "x"}, "a") == texts_at([], "a") == []
