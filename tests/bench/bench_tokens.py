"""Speed of counting tokens, on text mixed of our own sources, Chinese and JSON; everything in one run, one thread."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from inspector.core.tokens.counted import count_tokens, load_encoding
from inspector.core.tokens.estimators import ESTIMATORS
from inspector.core.tokens.exact import count_texts, load_tokenizer
from inspector.core.tokens.harnesses import estimate

MEGABYTES = 50
COUNTED = 5
"""Megabytes for the tokenizer: it is slow, and the same all the way."""
CHINESE = "上下文窗口正在填满，压缩之后代理会忘记先前的决定。The agent reads 300 lines of `main.rs`，然后继续。\n"


def main() -> list[tuple[str, float, str]]:
    """Rows of (what, figure, unit)."""
    blocks = mixed_blocks(MEGABYTES * 1_000_000)
    few = blocks[: len(blocks) * COUNTED // MEGABYTES]
    load_encoding("o200k_base")
    size, size_few = (
        sum(len(block.encode()) for block in blocks),
        sum(len(block.encode()) for block in few),
    )
    floor = best_of(lambda: sum(len(block.encode()) for block in blocks))
    roku = best_of(lambda: sum(map(estimate, blocks)))
    counted = best_of(lambda: sum(count_tokens(block, "o200k_base") for block in few), times=2)
    slowest = counted / size_few * size
    load_tokenizer()
    weighed = best_of(lambda: sum(count_texts(blocks)))
    return [
        ("roku on mixed text (asked: at least 500)", size / roku / 1e6, "MB/s"),
        ("roku against encoding to UTF-8 (asked: at most 5)", roku / floor, "x the time"),
        ("roku against tiktoken (asked: at least 40)", slowest / roku, "x the speed"),
        ("tiktoken o200k_base", size_few / counted / 1e6, "MB/s"),
        ("what everything is weighed by", size / weighed / 1e6, "MB/s"),
        (
            "the same against tiktoken, where toktok has a wheel (asked: at least 4)",
            slowest / weighed,
            "x the speed",
        ),
        *(
            (f"{name} on the same text", size / best_of(estimator_on(name, blocks)) / 1e6, "MB/s")
            for name in FORMULAS
        ),
    ]


FORMULAS = [name for name in ESTIMATORS if not name.startswith(("roku", "tiktoken"))]


def estimator_on(name: str, blocks: list[str]) -> Callable[[], int]:
    """Adds up the tokens of all blocks."""
    text = ESTIMATORS[name]().text
    return lambda: sum(map(text, blocks))


def best_of(work: Callable[[], int], times: int = 3) -> float:
    """Seconds of the quickest of a few runs: the others were disturbed."""
    found = []
    for _ in range(times):
        start = perf_counter()
        work()
        found.append(perf_counter() - start)
    return min(found)


def mixed_blocks(size: int) -> list[str]:
    """Blocks of 200 to 8,000 characters, always the same: half sources, the rest Chinese and JSON. At least `size`."""
    chance = random.Random(7)
    here = Path(__file__).resolve().parents[2]
    sources = [path.read_text("utf-8") for path in sorted((here / "inspector").rglob("*.py"))]
    records = [
        {"role": "user", "text": f"naïve café {n}", "ids": [n, n * n], "ok": True}
        for n in range(200)
    ]
    kinds = ["".join(sources), CHINESE * 200, json.dumps(records, ensure_ascii=False)]
    blocks: list[str] = []
    while size > 0:
        text = chance.choices(kinds, (2, 1, 1))[0]
        start = chance.randrange(len(text))
        blocks.append(text[start : start + chance.randrange(200, 8000)])
        size -= len(blocks[-1].encode())
    return blocks


if __name__ == "__main__":
    for what, figure, unit in main():
        print(f"{what:55} {figure:10.1f} {unit}")
