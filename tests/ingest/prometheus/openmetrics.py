"""Recorded answers of Prometheus → the text that ``promtool`` makes blocks of: the same samples, at
any time.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any


def as_openmetrics(
    answers: Iterable[Mapping[str, Any]], shifts_s: Iterable[float] = (0,), matching: str = ""
) -> str:
    """Every sample once for each shift; of a metric all lines stand together, as the format wants.

    ``matching``: part of its name.
    """
    lines: dict[str, set[tuple[str, float, str]]] = defaultdict(set)
    shifts_s = list(shifts_s)
    for answer in answers:
        for series in answer["body"]["data"]["result"]:
            name = series["metric"]["__name__"]
            if matching not in name:
                continue
            labels = ",".join(
                f'{key}="{_escaped(value)}"'
                for key, value in sorted(series["metric"].items())
                if key != "__name__"
            )
            lines[name] |= {
                (labels, at + shift, value) for at, value in series["values"] for shift in shifts_s
            }
    told = (
        f"{name}{{{labels}}} {value} {at:.3f}\n"
        for name in sorted(lines)
        for labels, at, value in sorted(lines[name])
    )
    return "".join(told) + "# EOF\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
