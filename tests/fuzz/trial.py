"""One damaged file through all that the command line does with one: only the program's own exceptions may come."""

import contextlib
import gc
import io
import json
import re
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from inspector.cli import main as cli
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.fuzz.mutations import mutate

LIMIT_S = 2.0
"""Seconds of the processor that anything may take of a file of 60 KB."""
_SHAPES = ("anthropic", "openai-chat", "openai-responses", "native")


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, and with which input: the same number makes the same one."""

    number: int
    sample: str
    doing: str
    what: str

    def __str__(self) -> str:
        return f"input {self.number} ({self.sample}), {self.doing}: {self.what}"


class Trials:
    """Inputs by their numbers, one after the other in one folder."""

    def __init__(self, samples: dict[str, bytes], folder: Path, *, thorough: bool = False) -> None:
        """`thorough`: every command and every policy, not one of each."""
        self._samples, self._folder, self._thorough = sorted(samples.items()), folder, thorough

    def made(self, number: int) -> tuple[str, bytes]:
        """The name and the bytes of an input."""
        name, data = self._samples[number % len(self._samples)]
        return name, mutate(data, Random(number), self._folder)

    def failures(self, number: int) -> Iterator[Failure]:
        """What goes wrong with an input."""
        name, data = self.made(number)
        path = self._folder / f"input{Path(name).suffix}"
        path.write_bytes(data)
        for doing, act in self._acts(path, data, Random(-number)):
            begun, what = time.process_time(), ""
            try:
                act()
            except InspectorError:
                pass
            except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
                what = traceback.format_exc()
            took = time.process_time() - begun
            if not what and took > LIMIT_S:
                what = f"it took {took:.1f} s"
            if what:
                yield Failure(number, name, doing, what)
        # Opening freezes all that is there: right for a file or two, not for thousands.
        if number % 200 == 0:
            gc.unfreeze()
            gc.collect()

    def _acts(
        self, path: Path, data: bytes, chance: Random
    ) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "opening", lambda: open_transcript(path)
        yield "following", lambda: _follow(path, data, chance.randrange(len(data) + 1))
        policies = list(POLICIES) if self._thorough else [chance.choice(list(POLICIES))]
        commands = [[name] for name in ("info", "calibrate", "breakdown", "cost", "lost", "pins")]
        commands += [[name, "--json"] for name in ("info", "buffer", "breakdown", "cost", "lost")]
        commands += [["buffer", "--at", "end"]] if self._thorough else []
        for words in commands if self._thorough else [chance.choice(commands)]:
            yield " ".join(words), partial(_run, [*words, str(path)])
        for policy in policies:
            words = [
                "--policy",
                policy,
                "--mode",
                chance.choice(("faithful", "safe")),
                "--answerer",
                "offline",
            ]
            words += ["--window", chance.choice(("300", "2000", "200k"))]
            yield (
                f"step {' '.join(words)}",
                partial(self._step, path, words, chance.choice(_SHAPES)),
            )
            if self._thorough or chance.random() < 0.2:
                yield (
                    f"replay {' '.join(words)}",
                    partial(_run, ["replay", *words, "--json", str(path)]),
                )

    def _step(self, path: Path, words: Sequence[str], shape: str) -> None:
        test = self._folder / "exported.py"
        test.unlink(missing_ok=True)
        made = [
            "--output",
            str(self._folder / "output"),
            "--as",
            shape,
            "--export-pytest",
            str(test),
        ]
        made += ["--save-steps", str(self._folder / "steps.json"), "--force"]
        _run(["step", *words, *made, str(path)])
        if test.exists():
            compile(test.read_bytes(), "exported.py", "exec")


_DRIVES = re.compile(r"[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would take for more than a sign."""


def _run(words: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(words)
    told = err.getvalue()
    if "--json" not in words:
        told += out.getvalue()
    elif status == 0:
        json.loads(out.getvalue())
    assert not _DRIVES.search(told), words


def _look_at(session: Session) -> None:
    for request in session.main.requests[-1:]:
        request.buffer()


def _follow(path: Path, data: bytes, cut: int) -> None:
    """The file as it grows in two pieces, and is then written anew."""
    try:
        path.write_bytes(data[:cut])
        follower = Follower(path, _look_at)
        for piece in (b"", data[cut:], b"\n"):
            with path.open("ab") as file:
                file.write(piece)
            follower.look()
        path.write_bytes(data)
        follower.look()
    finally:
        path.write_bytes(data)
