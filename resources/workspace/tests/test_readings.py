import unittest
from pathlib import Path

from tidewatch.readings import read, read_line

LOG = Path(__file__).parent.parent / "logs" / "gauge.log"


class Lines(unittest.TestCase):
    def test_a_reading(self) -> None:
        found = read_line("2026-03-13T02:30:00Z INFO harbour-east height=1.37m battery=12.4V quality=good\n")
        assert found is not None
        assert (found.gauge, found.height, found.battery) == ("harbour-east", 1.37, 12.4)

    def test_a_message_is_no_reading(self) -> None:
        assert read_line("2026-03-13T02:31:07Z INFO station: uploaded 48 readings") is None

    def test_a_poor_reading_does_not_count(self) -> None:
        found = read_line("2026-03-13T02:30:00Z INFO harbour-east height=9.99m battery=12.4V quality=poor")
        assert found is not None
        assert not found.counts

    def test_nothing_is_lost(self) -> None:
        lines = LOG.read_text(encoding="utf-8").splitlines()
        written = sum("height=" in line for line in lines)
        kept = len(list(read(lines)))
        assert kept == written, f"{written} readings in the log, {kept} were read"
