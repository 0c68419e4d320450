"""Numbers of rows, as addresses carry them."""

LARGEST = 2**63 - 1


def row_number(given: int | str) -> int:
    """The largest that databases take stands for larger ones: no row has it."""
    return min(int(given), LARGEST)
