"""Which facts are one: a file by its whole path and by the end of it. Lists and counts of lost facts go by it."""

from collections.abc import Iterable

from inspector.core.facts.fact import Fact


def distinct(gone: Iterable[Fact]) -> list[tuple[Fact, list[Fact]]]:
    """Each fact with its other names: a path that another one ends with is the same file."""
    listed = list(gone)
    paths = {fact.text: _tails(fact.text) for fact in listed if fact.kind == "path"}
    ends = {tail for tails in paths.values() for tail in tails[1:]}
    owner = dict[str, str]()
    for path in sorted(paths, key=len, reverse=True):
        if paths[path][0] not in ends:
            owner |= dict.fromkeys(paths[path], path)  # of several that end alike the shortest
    found = dict[Fact, list[Fact]]()
    for fact in listed:
        whole = owner[paths[fact.text][0]] if fact.kind == "path" else fact.text
        found.setdefault(Fact(fact.kind, whole), []).append(fact)
    return list(found.items())


def _tails(path: str) -> list[str]:
    parts = path.lstrip("./").split("/")
    return ["/".join(parts[n:]) for n in range(len(parts))]
