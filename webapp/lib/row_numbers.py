LARGEST = 2**63 - 1


def row_number(number: int | str) -> int:
    """The number, at most what a 64-bit column can store; 0, which no row has, without digits."""
    text = str(number)
    return min(int(text), LARGEST) if text.isdecimal() and len(text) < 99 else 0
