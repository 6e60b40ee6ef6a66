import unittest
from pathlib import Path

from tidewatch.readings import read, read_line

LOG = Path(__file__).parent.parent / "logs" / "gauge.log"
GOOD = (
    "13 March 2026 02:30 harbour-east: height 1.37 metres above chart datum, "
    "sensor clean, battery charging, quality good"
)


class Lines(unittest.TestCase):
    def test_a_reading(self) -> None:
        found = read_line(GOOD + "\n")
        assert found is not None
        assert (found.gauge, found.height, found.battery) == ("harbour-east", 1.37, "charging")

    def test_a_message_is_no_reading(self) -> None:
        assert (
            read_line(
                "13 March 2026 02:31 station: 48 readings were sent to the office, and all of them were taken"
            )
            is None
        )

    def test_a_poor_reading_does_not_count(self) -> None:
        found = read_line(GOOD.replace("good", "poor"))
        assert found is not None
        assert not found.counts

    def test_nothing_is_lost(self) -> None:
        lines = LOG.read_text(encoding="utf-8").splitlines()
        written = sum(": height " in line for line in lines)
        kept = len(list(read(lines)))
        assert kept == written, f"{written} readings in the log, {kept} were read"
