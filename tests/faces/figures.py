"""Numbers by what they measure, with the face that shows each: two faces must not show two numbers for one thing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TypeAlias

What: TypeAlias = tuple[object, ...]
"""What is measured: its name first (size, freed, cost ...), then of what (request, policy, tier ...)."""


class Figures:
    """Collects what each face shows."""

    def __init__(self) -> None:
        self._shown: dict[What, dict[str, object]] = defaultdict(dict)
        self._excuses: dict[tuple[What, str], str] = {}

    def add(self, face: str, shown: Mapping[What, object]) -> None:
        """Take the numbers of one face. A face that shows one thing twice must show one number."""
        for what, value in shown.items():
            known = self._shown[what]
            if face in known and known[face] != value:
                known[f"{face}, again"] = value
            else:
                known[face] = value

    def excuse(self, face: str, what: What, reason: str) -> None:
        """Let a face show another number. `reason`: the text of the product beside it that says why."""
        self._excuses[what, face] = reason

    @property
    def reasons(self) -> set[str]:
        """Why faces may differ."""
        return set(self._excuses.values())

    def differences(self) -> list[str]:
        """Return a sentence for each pair that differs without an excuse."""
        return [
            f"{what}: {face} {value!r}, {other} {different!r}"
            for what, face, value, other, different in self._pairs()
            if value != different and not self._is_excused(what, face, other)
        ]

    def _pairs(self) -> Iterator[tuple[What, str, object, str, object]]:
        for what, by_face in self._shown.items():
            for (face, value), (other, different) in combinations(by_face.items(), 2):
                yield what, face, value, other, different

    def _is_excused(self, what: What, *faces: str) -> bool:
        return any((what, face) in self._excuses for face in faces)

    @property
    def compared(self) -> int:
        """How many pairs were compared."""
        return sum(1 for _ in self._pairs())

    @property
    def faces(self) -> set[str]:
        """Every face that showed a number which another face shows, too."""
        return {face for by_face in self._shown.values() if len(by_face) > 1 for face in by_face}
