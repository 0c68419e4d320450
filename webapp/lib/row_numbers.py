LARGEST = 2**63 - 1


def row_number(number: int | str) -> int:
    """At most what a 64-bit column can store; 0, which is no row's, for anything else than digits."""
    text = str(number)
    return min(int(text), LARGEST) if text.isdecimal() and len(text) < 99 else 0
