"""How messages count things."""


def count_text(count: int, noun: str) -> str:
    """``1 byte``, ``3,000 bytes``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
