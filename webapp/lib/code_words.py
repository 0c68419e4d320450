"""Codes that are stored or answered by the API as they once were named, and the words that people
read for them.
"""

READ_AS = {"ended_recently": "ended recently", "judged_again": "judged again"}


def spaced(code: str) -> str:
    """'start_delay' → 'start delay', in English."""
    return READ_AS.get(code) or code.replace("_", " ")
