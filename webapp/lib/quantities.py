"""Numbers as texts with a unit. None (unknown) gives ``UNKNOWN``. Sizes have decimal units (1 MB =
10⁶ bytes), as storage bills and most dashboards do.
"""

import math

from django.utils.translation import gettext

UNKNOWN = "–"
_NARROW_SPACE = "\u202f"
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def bytes_text(size_bytes: float | None) -> str:
    """8_800_000 → '8.8 MB'."""
    if _is_unknown(size_bytes):
        return UNKNOWN
    value, unit = float(size_bytes or 0), _BYTE_UNITS[0]
    for unit in _BYTE_UNITS:
        # 999.5 would be shown as 1000 of the smaller unit.
        if abs(value) < 999.5 or unit == _BYTE_UNITS[-1]:
            break
        value /= 1000
    return f"{_significant(value) if unit != 'B' else round(value)} {unit}"


def binary_text(size_bytes: int | None) -> str:
    """For figures that are powers of two: 1_048_576 → '1 MiB'."""
    if size_bytes is None:
        return UNKNOWN
    value, unit = float(size_bytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:g} {unit}"


def bytes_rate_text(bytes_per_h: float | None) -> str:
    """3_500_000 → '+3.5 MB/h'; always with a sign, since it is a trend."""
    if _is_unknown(bytes_per_h):
        return UNKNOWN
    sign = "−" if (bytes_per_h or 0) < 0 else "+"
    return f"{sign}{bytes_text(abs(bytes_per_h or 0))}/h"


def bytes_per_day_text(bytes_per_day: float | None) -> str:
    """3_500_000 → '+3.5 MB/day'."""
    return bytes_rate_text(bytes_per_day).replace("/h", gettext("/day"))


def change_text(now: float | None, before: float | None) -> str:
    """120, 100 → '+20 %'."""
    if _is_unknown(now) or _is_unknown(before) or not before:
        return UNKNOWN
    ratio = (now or 0) / before - 1
    return f"{'−' if round(ratio * 100) < 0 else '+'}{abs(ratio) * 100:,.0f} %"


def duration_text(duration_ms: float | None) -> str:
    """Two units at most: 850 → '850 ms', 4_000 → '4.0 s', 125_000 → '2 min 5 s', 273_600_000 → '3 d
    4 h'.
    """
    if _is_unknown(duration_ms):
        return UNKNOWN
    ms = float(duration_ms or 0)
    sign, ms = ("−" if ms < 0 else ""), abs(ms)
    if ms < 999.5:
        return f"{sign}{round(ms)} ms"
    if ms < 59_950:
        return f"{sign}{ms / 1000:.1f} s" if ms < 9_995 else f"{sign}{_significant(ms / 1000)} s"
    seconds = round(ms / 1000)
    for size_s, name, small_s, small in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size_s:
            remainder = seconds % size_s // small_s
            return f"{sign}{seconds // size_s:,} {name}" + (
                f" {remainder} {small}" if remainder else ""
            )
    return f"{sign}{seconds} s"


def percent_text(ratio: float | None) -> str:
    """0.78 → '78 %'. Only exactly 0 is '0 %', only 1 is '100 %': 0.001 → '< 1 %', 0.997 → '> 99 %'."""
    if _is_unknown(ratio):
        return UNKNOWN
    percent = (ratio or 0) * 100
    if 0 < percent < 1:
        return "< 1 %"
    return "> 99 %" if 99.5 <= percent < 100 else f"{percent:.0f} %"


def usage_text(ratio: float | None) -> str:
    """Usage of a buffer pool, 0…1, or a little above with overdraft buffers: 0.966 → '0.97'."""
    return UNKNOWN if _is_unknown(ratio) else f"{ratio:.2f}"


def count_text(count: float | None) -> str:
    """12345 → '12,345'."""
    return UNKNOWN if _is_unknown(count) else f"{count:,.0f}"


def capped_count_text(count: int | None, cap: int) -> str:
    """A count that stopped at ``cap + 1`` is shown as '1,000+'."""
    if count is None:
        return UNKNOWN
    return f"{cap:,}+" if count > cap else f"{count:,}"


def per_second_text(rate: float | None, unit: str = "/s") -> str:
    """1597.9 → '1,598 /s', 0.25 → '0.25 /s'."""
    if _is_unknown(rate):
        return UNKNOWN
    number = f"{rate:,.0f}" if (rate or 0) >= 10 else f"{rate:.2g}"
    return f"{number}{_NARROW_SPACE}{unit}"


def times_text(factor: float | None) -> str:
    """4.1 → '× 4.1'."""
    return UNKNOWN if _is_unknown(factor) else f"× {_significant(float(factor or 0))}"


def _is_unknown(value: float | str | None) -> bool:
    # Templates pass "" for a missing name.
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def _significant(value: float) -> str:
    """Two digits below ten, whole numbers above: 8.84 → '8.8', 82.4 → '82'."""
    return f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"
