CAUSED = "\nCaused by: "
CUT = "\n\t... cut ...\n"


def shortened(trace: str, most_chars: int) -> str:
    """The trace if it fits, else its beginning and its innermost cause. The cause takes at most
    half of ``most_chars``.
    """
    if len(trace) <= most_chars:
        return trace
    begins = trace.rfind(CAUSED) + 1
    innermost = trace[begins : begins + most_chars // 2]
    head = most_chars - len(innermost) - len(CUT)
    return trace[:most_chars] if begins <= head else f"{trace[:head]}{CUT}{innermost}"
