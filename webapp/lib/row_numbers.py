LARGEST = 2**63 - 1


def row_number(number: int | str) -> int:
    """At most what a 64-bit column can store."""
    return min(int(number), LARGEST)
