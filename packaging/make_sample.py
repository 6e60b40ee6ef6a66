"""Makes the sample session that ships with the program: resources/sample.jsonl, the same bytes every time.

    python packaging/make_sample.py             writes the sample from the story and the frozen outputs
    python packaging/make_sample.py --perform   runs the story's commands for real first, and freezes what they print

The story is packaging/sample/story.txt, the project it plays in is packaging/sample/project.txt. Both are our own; the
people, banks and numbers in them are invented.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from sample.blocks import dumps  # noqa: E402
from sample.play import Frozen, Play, output_name  # noqa: E402
from sample.script import Scene, read_bundle, read_story, write_bundle  # noqa: E402
from sample.stage import Stage  # noqa: E402
from sample.statements import data_files  # noqa: E402
from sample.transcript import Transcript  # noqa: E402
from sample.workspace import Workspace  # noqa: E402

PLACE = HERE / "sample"
SAMPLE = HERE.parent / "resources" / "sample.jsonl"


def main() -> None:
    """Write the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--perform",
        action="store_true",
        help="run the commands of the story and freeze their outputs",
    )
    if parser.parse_args().perform:
        (PLACE / "outputs.txt").write_text(write_bundle(_performed()), encoding="utf-8")
    SAMPLE.write_text(sample(), encoding="utf-8")
    print(f"{SAMPLE.name}: {SAMPLE.stat().st_size:,} bytes")


def sample() -> str:
    """The transcript."""
    workspace = _workspace()
    play = Play(workspace, Frozen(read_bundle((PLACE / "outputs.txt").read_text(encoding="utf-8"))))
    records = Transcript(workspace).perform(play.events(_story()))
    return "".join(f"{dumps(record)}\n" for record in records)


def _story() -> list[Scene]:
    return read_story((PLACE / "story.txt").read_text(encoding="utf-8"))


def _workspace() -> Workspace:
    project = read_bundle((PLACE / "project.txt").read_text(encoding="utf-8"))
    return Workspace({name: text.encode() for name, text in project.items()} | data_files())


def _performed() -> dict[str, str]:
    """What every command of the story prints, by its name."""
    outputs: dict[str, str] = {}
    workspace, stage = _workspace(), Stage()
    stage.found(workspace)

    def run(workspace: Workspace, number: int, command: str) -> tuple[str, int]:
        moment = f"2026-03-02T{9 + number // 60:02}:{number % 60:02}:00+00:00"
        said, status = stage.run(workspace, command, moment)
        outputs[output_name(number, command)] = f"{status}\n{said}"
        return said, status

    Transcript(workspace).perform(Play(workspace, run).events(_story()))
    stage.close()
    return outputs


if __name__ == "__main__":
    main()
