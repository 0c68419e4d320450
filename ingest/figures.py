"""Figures in English sentences: sizes, durations, shares, counts and lists, each with its unit."""

from collections.abc import Sequence

_SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_TIMES = (
    ("d", 48 * 3_600_000, 86_400_000),
    ("h", 2 * 3_600_000, 3_600_000),
    ("min", 120_000, 60_000),
    ("s", 1_000, 1_000),
)


def bytes_figure(size_bytes: float) -> str:
    """``78.2 MB``; below 1 kB ``512 bytes``."""
    for unit, factor in _SIZES:
        if abs(size_bytes) >= factor:
            return f"{short_figure(size_bytes / factor)} {unit}"
    return f"{size_bytes:.0f} bytes"


def duration_figure(duration_ms: float) -> str:
    """``25.3 s``; two units are never mixed."""
    for unit, begins_ms, factor in _TIMES:
        if abs(duration_ms) >= begins_ms:
            return f"{short_figure(duration_ms / factor)} {unit}"
    return f"{duration_ms:.0f} ms"


def share_figure(share: float) -> str:
    """``31.4 %``; ``100 %`` and ``0 %`` are exact: what only rounds to them reads ``> 99.9 %`` or
    ``< 0.1 %``.
    """
    percent = share * 100
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= percent < 100 else f"{short_figure(percent)} %"


def short_figure(value: float) -> str:
    """One decimal below 1,000, none above, and none where it is zero."""
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 1000 else f"{value:,.0f}"


def list_figure(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return parts[0] if parts else ""
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def count_text(count: int, noun: str) -> str:
    """``1 byte``, ``3,000 bytes``: for commands, whose output is English."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
