"""Stacked areas over requests, drawn as one image: each pixel column shows the parts of one request.

numpy builds the image, so that a frame costs the same for 100 requests and for 100,000.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtGui import QColor, QImage

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"
    Places: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"

GAP_FROM = 12
"""Width of a bar in pixels from which a gap separates it from the next one."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The part of a plot shown by an image: its edges in requests, the tokens at its top, its size in device pixels."""

    first: float
    last: float
    top: float
    width: int
    height: int
    ratio: float = 1.0
    """Device pixels per pixel."""


class StackedAreas:
    """The parts of the buffer at every request. `rows` has one row of tokens per part, lowest first.

    The highest part may be negative; then the parts below it are cut at the sum.
    """

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        import numpy as np

        sums: Numbers = np.array(rows, dtype=np.float64).cumsum(axis=0)
        self._sums: Numbers = np.minimum(sums, sums[-1:])  # a negative part reduces those below it
        self._peaks: dict[int, Places] = {}

    @property
    def count(self) -> int:
        """Number of requests drawn."""
        return int(self._sums.shape[1]) if self._sums.ndim > 1 else 0

    def image(
        self,
        frame: Frame,
        colours: Sequence[str],
        rest: Sequence[str] = (),
        chosen: range | None = None,
    ) -> QImage:
        """Draw the areas.

        Args:
            frame: The part of the plot to draw.
            colours: Colour of each part, lowest first.
            rest: Colour of each part in the requests that are not `chosen`.
            chosen: Requests in full colour; None for all.
        """
        import numpy as np

        requests, is_bar = self._columns(frame)
        parts = len(colours)
        tops = self._sums[:, np.clip(requests, 0, max(0, self.count - 1))]
        rows = frame.height - np.rint(tops * (frame.height / frame.top)).astype(np.int64)
        rows = np.clip(rows, 0, frame.height)
        rows[:, ~is_bar] = frame.height
        parts_above = np.zeros((frame.height + 1, frame.width), dtype=np.uint8)
        columns = np.arange(frame.width)
        for row in rows:
            parts_above[row, columns] += 1
        parts_above = np.cumsum(parts_above[: frame.height], axis=0, dtype=np.uint8)
        palette = [0, *(QColor(colour).rgba() for colour in reversed(colours))]
        if chosen is not None:
            outside = (requests < chosen.start) | (requests >= chosen.stop)
            palette += [0, *(QColor(colour).rgba() for colour in reversed(rest))]
            parts_above += (outside * (parts + 1)).astype(np.uint8)
        pixels = np.ascontiguousarray(np.array(palette, dtype=np.uint32)[parts_above])
        image = QImage(
            pixels.data,
            frame.width,
            frame.height,
            frame.width * 4,
            QImage.Format.Format_ARGB32_Premultiplied,
        ).copy()
        image.setDevicePixelRatio(frame.ratio)
        return image

    def _columns(self, frame: Frame) -> "tuple[Places, np.ndarray[tuple[int], np.dtype[np.bool_]]]":
        """Return the request of each pixel column, and whether anything is drawn there.

        If several requests share a column, the column shows the largest of them.
        """
        import numpy as np

        per_pixel = (frame.last - frame.first) / frame.width
        places = frame.first + (np.arange(frame.width + 1) + 0.5) * per_pixel
        requests = np.floor(places + 0.5).astype(np.int64)
        if per_pixel > 1:
            every = int(np.ceil(per_pixel))
            peaks = self._peaks_of(every)
            slots = np.clip(requests // every, 0, max(0, len(peaks) - 1))
            inside = (requests >= 0) & (requests < self.count)
            requests = np.where(inside, peaks[slots] if len(peaks) else requests, requests)
        starts = requests[:-1]
        is_bar = (starts >= 0) & (starts < self.count)
        if 1 / per_pixel >= GAP_FROM * frame.ratio:
            gap = round(frame.ratio)
            is_bar[: frame.width - gap] &= starts[: frame.width - gap] == starts[gap:]
        return starts, is_bar

    def _peaks_of(self, every: int) -> "Places":
        """Return the index of the largest request in each group of `every` consecutive requests."""
        import numpy as np

        if every not in self._peaks:
            total = self._sums[-1] if self.count else np.zeros(0)
            groups = -(-self.count // every)
            padded = np.full(groups * every, -1.0)
            padded[: self.count] = total
            inside = padded.reshape(groups, every).argmax(axis=1)
            self._peaks[every] = inside + np.arange(groups) * every
        return self._peaks[every]
