LARGEST = 2**63 - 1


def row_number(given: int | str) -> int:
    return min(int(given), LARGEST)
