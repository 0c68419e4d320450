"""Stack traces that are too long to be kept whole: their beginning and their innermost cause say
most.
"""

CAUSED = "\nCaused by: "
CUT = "\n\t... cut ...\n"


def shortened(trace: str, most_chars: int) -> str:
    """The trace where it fits, else its beginning and, of at most half of the room, the beginning
    of its last cause.
    """
    if len(trace) <= most_chars:
        return trace
    begins = trace.rfind(CAUSED) + 1
    innermost = trace[begins : begins + most_chars // 2]
    head = most_chars - len(innermost) - len(CUT)
    return trace[:most_chars] if begins <= head else f"{trace[:head]}{CUT}{innermost}"
