"""Weighing a session beside opening it, in one run: by the exact weigher, and by Roku's rule, which weighed it before.

Processor time of the same process, so that other programs disturb it little; loading the tokenizer stands apart.
"""

import tempfile
from pathlib import Path
from time import process_time

from inspector.core.findings.composition import weigh_categories
from inspector.core.session import Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.exact import load_tokenizer
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.weigher import weigher_of
from inspector.transcripts.files import open_transcript
from tests.bench.made import make_session
from tests.bench.run import Row

MEGABYTES = 100


def main() -> list[Row]:
    """Rows of what was measured."""
    start = process_time()
    load_tokenizer()
    loading = process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = make_session(Path(folder) / "session.jsonl", MEGABYTES)
        start = process_time()
        thread = open_transcript(path).main
        opening = process_time() - start
    exact, roku = _weighing(thread, weigher_of(thread)), _weighing(thread, estimator("roku"))
    return [
        ("loading the tokenizer, once", loading, "s"),
        (f"{MEGABYTES} MB: opening", opening, "s"),
        (f"{MEGABYTES} MB: weighing by the exact weigher", exact, "s"),
        (f"{MEGABYTES} MB: weighing by Roku's rule", roku, "s"),
        ("exact weigher beyond Roku's rule", exact - roku, "s (asked: <= 0.3)"),
        ("weighing against opening", exact / opening, "x the time"),
    ]


def _weighing(thread: Thread, by: Estimator) -> float:
    """Seconds for all that the first picture of a thread needs: weights, categories, pressures."""
    start = process_time()
    weigh_categories(thread, by)
    thread_pressures(thread, by)
    return process_time() - start
