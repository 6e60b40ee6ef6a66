"""Draws the icon's PNG sizes anew from its one source, `resources/icons/context-inspector.svg`."""

import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ICONS = Path(__file__).resolve().parent.parent / "resources" / "icons"
SIZES = (16, 32, 48, 64, 128, 256, 512)


def main() -> None:
    """Writes one square PNG a size."""
    drawing = QSvgRenderer(str(ICONS / "context-inspector.svg"))
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        drawing.render(painter)
        painter.end()
        if not image.save(str(ICONS / f"context-inspector-{size}.png")):
            sys.exit(f"{ICONS} cannot be written")


if __name__ == "__main__":
    main()
