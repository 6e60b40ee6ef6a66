"""The pictures of README and docs, taken anew: the real window on a real (virtual) screen, in both themes.

    make_screenshots.py                  the sample: docs/images/ and the guide's story into docs/guide/
    make_screenshots.py --live           only what runs: the demo, a question, a request held at the proxy
    make_screenshots.py --out DIR FILE…  other transcripts, elsewhere (to look at; not for the repository)

Starts an Xvfb of its own where there is no DISPLAY. Pictures of the sample show what is in the repository anyway; of
anyone else's transcripts none belong there.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from screenshots.guide import FULL, SCENES  # noqa: E402
from screenshots.live import live  # noqa: E402
from screenshots.screen import screen  # noqa: E402
from screenshots.small import save_small  # noqa: E402
from screenshots.stage import SIZE, Stage  # noqa: E402

from inspector.gui.app import build  # noqa: E402
from inspector.gui.look.theme import Mode  # noqa: E402
from inspector.gui.panels.timeline.panel import Timeline  # noqa: E402
from inspector.gui.settings import Settings  # noqa: E402
from inspector.resources import resource  # noqa: E402

DOCS = HERE.parent / "docs"
SIZES = (SIZE, (1920, 1080))
THEMES: tuple[Mode, ...] = ("dark", "light")


def save(stage: Stage, path: Path) -> None:
    """One picture, of the window at rest."""
    _save(stage.picture(), path)


def _save(picture: QImage, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_small(picture, path)
    print(path)


def overview(stage: Stage) -> None:
    """The window on the sample, in both themes."""
    stage.open(resource("sample.jsonl"))
    for mode in THEMES:
        stage.set_up(mode)
        stage.window.choose_workspace("Read")
        stage.panel("Timeline", Timeline).way.choose("By category")
        stage.stand(FULL)
        stage.bench.dismiss()  # the notice that the steps of the guide were restored
        save(stage, DOCS / "images" / f"window-{mode}.png")


def guide(stage: Stage) -> None:
    """The story, from an empty window."""
    stage.set_up("dark")
    stage.stepping.choose(policy="roku")  # the story is of its tiers, the sample of Claude Code
    for name, lead in SCENES:
        lead(stage)
        save(stage, DOCS / "guide" / f"{name}.png")


def others(stage: Stage, files: list[Path], out: Path) -> None:
    """Any transcripts, at their fullest request, in both themes and sizes."""
    for path in files:
        stage.open(path)
        pressures = stage.bench.state.pressures
        sizes = [pressure.tokens or 0 for pressure in pressures] if pressures else []
        stage.bench.move(sizes.index(max(sizes)) if sizes else None)
        for width, height in SIZES:
            for mode in THEMES:
                stage.set_up(mode, (width, height))
                save(stage, out / f"{path.stem}-{mode}-{width}x{height}.png")


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description="Take the pictures of README and docs anew.")
    parser.add_argument(
        "--out", type=Path, default=Path("screenshots"), help="folder for the pictures of FILEs"
    )
    parser.add_argument("--live", action="store_true", help="only the pictures of what runs")
    parser.add_argument(
        "files", nargs="*", type=Path, help="other transcripts; default: the sample, for the docs"
    )
    chosen = parser.parse_args()
    with screen(), tempfile.TemporaryDirectory() as folder:
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        os.environ["HOME"] = folder  # no sessions and settings of whoever runs this
        application = QApplication(["context-inspector"])
        window = build(
            application, Settings(QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat))
        )
        window.show()
        stage = Stage(window)
        if chosen.files:
            others(stage, chosen.files, chosen.out)
        elif not chosen.live:
            guide(stage)
            window.close_session()
            stage.rest()
            overview(stage)
            window.close_session()
        if not chosen.files:
            live(
                stage,
                Path(folder),
                lambda picture, name: _save(picture, DOCS / "guide" / f"{name}.png"),
            )
        window.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
