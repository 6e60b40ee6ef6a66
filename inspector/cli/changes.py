"""The changes of a thread's buffer as the command line prints them: recorded compactions and unrecorded drops."""

from typing import Any

from inspector.cli.output import picked
from inspector.core.drops import Drop, drop_sizes
from inspector.core.session import Thread
from inspector.core.tokens.change_sizes import ChangeSizes
from inspector.core.tokens.pressure import Pressures


def sizes_document(sizes: ChangeSizes) -> dict[str, Any]:
    """Return the sizes around a change as a document, with the kind of each."""
    before, after = sizes.before, sizes.after
    return {
        "tokens_before": before.tokens,
        "tokens_after": after.tokens,
        "before_kind": (before.kind or "recorded") if before.tokens is not None else "unknown",
        "before_band": before.band,
        "after_kind": after.kind or "unknown",
    }


def drop_document(thread: Thread, pressures: Pressures, drop: Drop) -> dict[str, Any]:
    """Return one of the thread's drops as a document. `pressures` are those of the thread."""
    about = picked(
        drop, "thread request kind loss why marker lost changed kept compaction line time"
    )
    return about | sizes_document(drop_sizes(thread, pressures, drop))
