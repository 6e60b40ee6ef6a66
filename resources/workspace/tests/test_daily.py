import unittest
from datetime import date
from pathlib import Path

from tidewatch.daily import day
from tidewatch.readings import read

LOG = Path(__file__).parent.parent / "logs" / "gauge.log"


class TheStorm(unittest.TestCase):
    def setUp(self) -> None:
        with LOG.open(encoding="utf-8") as lines:
            self.readings = list(read(lines))

    def test_an_ordinary_day(self) -> None:
        found = day(self.readings, date(2026, 3, 13), "harbour-east")
        assert found.is_whole
        assert 3.0 < found.high < 3.6, f"high water was {found.high} m"

    def test_the_wreck_fell_dry(self) -> None:
        found = day(self.readings, date(2026, 3, 14), "harbour-east")
        assert found.low < -0.3, f"low water was {found.low} m; the wreck falls dry at -0.3 m"
