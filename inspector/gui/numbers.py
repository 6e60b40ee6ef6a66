"""How numbers are spelt everywhere in the window."""


def grouped(number: int) -> str:
    """`152,310`."""
    return f"{number:,}"


def percent(ratio: float) -> str:
    """`76.2 %`."""
    return f"{ratio * 100:.1f} %"


def short(number: float) -> str:
    """`52k`, `1.2M`: for axes."""
    if abs(number) >= 1_000_000:
        return f"{number / 1_000_000:g}M"
    if abs(number) >= 1_000:
        return f"{number / 1_000:g}k"
    return f"{number:g}"


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 message`, `996 messages`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def signed(number: int) -> str:
    """`+120`, `−30,594`, `0`: a difference."""
    return f"{'−' if number < 0 else '+' if number else ''}{abs(number):,}"
