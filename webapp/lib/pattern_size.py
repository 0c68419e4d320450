"""Estimates the size of RE2's program for a pattern before it is compiled: RE2 expands repetitions,
and Unicode classes are large.
"""

import re

MOST_UNITS = 10_000
"""A unit takes at most a microsecond: 10 ms for a pattern."""

_TOKEN = re.compile(
    r"(?P<quoted>\\Q.*?(?:\\E|\Z))"
    r"|(?P<class>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+(?:\]|\Z))"
    r"|(?P<flags>\(\?[a-zA-Z-]*\))"
    r"|\\(?:[pP]\{[^}]*+\}|[pP].|x\{[^}]*+\}|.)"
    r"|\{(?P<least>[0-9]{1,9})(?:,(?P<most>[0-9]{0,9}))?\}"
    r"|.",
    re.DOTALL,
)
_UNICODE = re.compile(r"\\[pP]")
_WIDE = re.compile(r"\\[WDSC]|\\x\{|\[\^|[^\x00-\x7f]|\[:\^", re.DOTALL)


def units_of(pattern: str) -> int:
    """Roughly the number of instructions; any number if RE2 refuses the pattern."""
    sums = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token["least"]:
            times = max(1, int(token["least"]), int(token["most"] or 0))
            sums[-1] += last * (times - 1)
            last *= times
        elif text == "(":
            sums.append(1)
        elif text == ")":
            last = sums.pop() + 1
            sums = sums or [0]
            sums[-1] += last
        # After ``?``, ``*``, ``+`` or flags, a count applies to the expression before them.
        elif text not in ("?", "*", "+") and not token["flags"]:
            last = (
                len(text)
                + 2_000 * len(_UNICODE.findall(text))
                + 20 * len(_WIDE.findall(text))
                + 20 * (text == ".")
            )
            sums[-1] += last
    return sum(sums)
