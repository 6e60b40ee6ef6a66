"""Divide whole numbers and round up, as estimators of tokens do."""


def divide_up(number: int, divisor: int) -> int:
    """Return `number / divisor`, rounded up to a whole number. Exact, unlike `math.ceil` of a quotient."""
    return -(-number // divisor)
