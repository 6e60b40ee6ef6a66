"""Makes the data of the sample workspace: resources/workspace/logs and data, the same bytes every time.

python packaging/make_workspace.py
"""

import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parent.parent / "resources" / "workspace"
START = datetime(2026, 3, 12, tzinfo=UTC)
HALF_HOURS = 4 * 48
TIDE_H = 12.42
"""Hours from one high water to the next."""
STORM = datetime(2026, 3, 14, 9, tzinfo=UTC)
MESSAGES = (
    "station: {n} readings were sent to the office, and all of them were taken",
    "station: the clock was {n} milliseconds off and has been corrected",
    "station: wind of {n} knots from the land, the water is pushed out of the bay",
    "station: the sluice at the old dock was opened by hand for {n} minutes",
    "station: a fishing boat is moored at the gauge, readings may be fair for {n} minutes",
)


def log() -> str:
    """Four days of two gauges, with what the station says in between. A storm on the third lowers the water."""
    dice, lines = random.Random(14), list[str]()
    for step in range(HALF_HOURS):
        now = START + timedelta(minutes=30 * step)
        for gauge, shift in (("harbour-east", 0.0), ("harbour-west", 0.04)):
            lines.append(_reading(now, gauge, shift, dice))
        if dice.random() < 0.12:
            said = dice.choice(MESSAGES).format(n=dice.randint(3, 90))
            lines.append(f"{now + timedelta(minutes=dice.randint(1, 28)):%d %B %Y %H:%M} {said}")
    return "\n".join(lines) + "\n"


def _reading(now: datetime, gauge: str, shift: float, dice: random.Random) -> str:
    hours = (now - START).total_seconds() / 3600
    wind = -0.75 * math.exp(-(((now - STORM).total_seconds() / 3600 / 7) ** 2))
    height = (
        1.75
        + 1.55 * math.cos(2 * math.pi * (hours - 2.6) / TIDE_H)
        + wind
        + shift
        + dice.uniform(-0.04, 0.04)
    )
    quality = "good" if dice.random() < 0.94 else "fair"
    return (
        f"{now:%d %B %Y %H:%M} {gauge}: height {height:.2f} metres above chart datum, "
        f"sensor clean, battery charging, quality {quality}"
    )


def residuals() -> str:
    """How far off the prediction each reading was, in centimetres: one digit each, twelve a line."""
    dice = random.Random(12)
    rows = (
        ",".join(str(min(9, int(abs(dice.gauss(0, 3.4))))) for _ in range(12)) for _ in range(600)
    )
    return "centimetres off the prediction\n" + "\n".join(rows) + "\n"


def main() -> None:
    """Write both files."""
    (WORKSPACE / "logs" / "gauge.log").write_text(log(), encoding="utf-8")
    (WORKSPACE / "data" / "residuals.csv").write_text(residuals(), encoding="utf-8")


if __name__ == "__main__":
    main()
