LARGEST = 2**63 - 1


def row_number(given: int | str) -> int:
    """0, of no row, for what is no number."""
    text = str(given)
    return min(int(text), LARGEST) if text.isdecimal() and len(text) < 99 else 0
