"""Pictures small enough for a repository: at most 256 colours, those that the picture itself has most of.

The colours are the means of 256 boxes, found by cutting the box with the most spread in two at its median, again and
again (Heckbert's median cut, 1982). The same picture gives the same bytes.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QImage

Colours = npt.NDArray[np.int64]
ENTRIES = 256


def save_small(picture: QImage, path: Path) -> None:
    """Write a PNG with a palette. Raises OSError where it cannot be written."""
    plain = picture.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(plain.constBits(), np.uint32) & 0xFFFFFF
    found, where, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1).astype(np.int64)
    entries, chosen = palette(colours, counts)
    rows = np.zeros((plain.height(), -(-plain.width() // 4) * 4), np.uint8)
    rows[:, : plain.width()] = chosen[where].reshape(plain.height(), plain.width())
    bits = rows.tobytes()
    indexed = QImage(
        bits, plain.width(), plain.height(), rows.shape[1], QImage.Format.Format_Indexed8
    )
    indexed.setColorTable([0xFF000000 | int(r) << 16 | int(g) << 8 | int(b) for r, g, b in entries])
    if not indexed.save(str(path), "PNG", 0):  # type: ignore[call-overload]  # 0 = as small as it goes
        raise OSError(f"cannot write {path}")


def palette(colours: Colours, counts: Colours) -> tuple[Colours, npt.NDArray[np.uint8]]:
    """(the palette's colours, for each colour its entry). O(colours x entries)."""
    boxes = [np.arange(len(colours))]
    while len(boxes) < min(ENTRIES, len(colours)):
        widest = max(range(len(boxes)), key=lambda n: _spread(colours[boxes[n]], counts[boxes[n]]))
        if len(boxes[widest]) == 1:
            break
        boxes[widest : widest + 1] = _cut(colours, counts, boxes[widest])
    entries = np.zeros((len(boxes), 3), np.int64)
    chosen = np.zeros(len(colours), np.uint8)
    for n, box in enumerate(boxes):
        entries[n] = np.rint(np.average(colours[box], axis=0, weights=counts[box]))
        chosen[box] = n
    return entries, chosen


def _spread(colours: Colours, counts: Colours) -> float:
    """How much is lost where one colour stands for all of these; a frequent colour does not drown the rare ones."""
    if len(colours) == 1:
        return -1.0
    weights = np.sqrt(counts)
    mean = np.average(colours, axis=0, weights=weights)
    return float((((colours - mean) ** 2).sum(axis=1) * weights).sum())


def _cut(colours: Colours, counts: Colours, box: Colours) -> list[Colours]:
    values = colours[box]
    axis = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
    ordered = box[np.argsort(values[:, axis], kind="stable")]
    run = np.cumsum(np.sqrt(counts[ordered]))
    at = int(np.searchsorted(run, run[-1] / 2))
    at = min(max(1, at), len(ordered) - 1)
    return [ordered[:at], ordered[at:]]
