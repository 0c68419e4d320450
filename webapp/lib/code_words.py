READ_AS = {"ended_recently": "ended recently", "judged_again": "judged again"}


def spaced(code: str) -> str:
    """'start_delay' → 'start delay', in English."""
    return READ_AS.get(code) or code.replace("_", " ")
