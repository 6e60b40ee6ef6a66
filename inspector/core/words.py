"""Words that go with numbers, in the window and on the command line alike."""


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 message`, `996 messages`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def per_cent(part: float, places: int = 0, sign: str = "") -> str:
    """`60 %`; with the sign `+` `+8 %`, `-3 %`."""
    return f"{part * 100:{sign}.{places}f} %"
