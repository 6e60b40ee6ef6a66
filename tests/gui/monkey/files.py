"""What the monkey opens: good sessions, broken ones, files that grow, vanish and turn to garbage."""

import os
from pathlib import Path
from random import Random

from inspector.gui.welcome import sample_path
from tests.gui.made import payload
from tests.transcripts.made import lines_of, record, write

ROOT = Path(__file__).resolve().parent.parent.parent.parent
CRASHES = Path(os.environ.get("CONTEXT_INSPECTOR_CRASHES") or ROOT.parent / "shared" / "crashes")
LARGEST = 300_000
"""Bytes: a larger one takes the monkey's time."""


class Files:
    """Paths to open; those in `folder` are changed while they are open."""

    def __init__(self, folder: Path, random: Random) -> None:
        self._folder, self._random = folder, random
        self._lines = 8
        self.growing = write(folder, lines_of(self._lines))
        made = [
            payload(folder / "body.json"),
            folder / "missing.jsonl",
            folder,
            folder / "garbage.jsonl",
        ]
        (folder / "garbage.jsonl").write_bytes(random.randbytes(9_000))
        (folder / "empty.jsonl").write_bytes(b"")
        data = [path for path in (ROOT / "tests" / "data").rglob("*") if path.is_file()]
        broken = (
            [path for path in CRASHES.glob("*") if path.suffix != ".md"] if CRASHES.is_dir() else []
        )
        small = [path for path in (*data, *broken) if path.stat().st_size < LARGEST]
        self.paths = [sample_path(), self.growing, *made, folder / "empty.jsonl", *sorted(small)]

    def any(self) -> str:
        """One of them; now and then one that was cut or changed a moment ago."""
        path = self._random.choice(self.paths)
        if self._random.random() < 0.3 and path.is_file():
            return str(self._mutated(path))
        return str(path)

    def _mutated(self, path: Path) -> Path:
        data = bytearray(path.read_bytes())
        for _ in range(self._random.randint(1, 20)):
            at = self._random.randrange(len(data) + 1)
            match self._random.randrange(3):
                case 0:
                    data[at : at + 1] = self._random.randbytes(1)
                case 1:
                    del data[at : at + self._random.randrange(200)]
                case _:
                    data[at:at] = data[: self._random.randrange(300)]
        target = self._folder / f"mutated-{self._random.randrange(40)}{path.suffix}"
        target.write_bytes(data)
        return target

    def disturb(self) -> None:
        """What an agent, or a careless person, does to the file that is followed."""
        match self._random.randrange(6):
            case 0:
                self.growing.unlink(missing_ok=True)
            case 1:
                self.growing.write_bytes(self._random.randbytes(500))
            case 2:
                write(self._folder, lines_of(self._lines))
            case _:
                self._lines += 1
                with self.growing.open("ab") as file:
                    file.write(record(self._lines))
