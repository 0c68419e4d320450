"""What a shown figure can mean: '2.1 s' is anything from 2,050 to 2,150 ms.

Read from the text alone, as a reader does.
"""

import re

UNKNOWN = "–"
_UNITS = {
    **{"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000},
    **{"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
}
_PART = re.compile(r"([\d,]+)(\.\d+)? ([A-Za-z]+)")


def means(text: str, value: float | None) -> bool:
    """Whether ``text``, a duration or a size, is how ``value`` (ms or bytes) reads when rounded to
    its last digit.
    """
    if text == UNKNOWN or value is None:
        return text == UNKNOWN and value is None
    parts = [(whole, fraction, _UNITS[unit]) for whole, fraction, unit in _PART.findall(text)]
    told = sum(float(whole.replace(",", "") + fraction) * unit for whole, fraction, unit in parts)
    _whole, fraction, smallest = parts[-1]
    # '10 min' stands for '10 min 0 s': two units are shown, of the second none where it is 0.
    exactness = 1_000 if text.endswith(" min") else smallest * 10.0 ** -max(len(fraction) - 1, 0)
    return abs(told - value) <= exactness / 2 + 1e-6
