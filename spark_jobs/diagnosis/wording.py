"""Sizes, durations, shares and counts as the texts of findings word them."""

from collections.abc import Iterable

MOST_LETTERS = 60

_SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_TIMES = (("d", 48 * 3_600_000, 86_400_000), ("h", 2 * 3_600_000, 3_600_000), ("min", 120_000, 60_000), ("s", 1_000, 1_000))


def bytes_text(size: float) -> str:
    """``78.2 MB``."""
    for unit, factor in _SIZES:
        if abs(size) >= factor:
            return f"{_short(size / factor)} {unit}"
    return f"{size:.0f} bytes"


def ms_text(duration_ms: float) -> str:
    """``25.3 s``; two units are never mixed."""
    for unit, begins_ms, factor in _TIMES:
        if abs(duration_ms) >= begins_ms:
            return f"{_short(duration_ms / factor)} {unit}"
    return f"{duration_ms:.0f} ms"


def share_text(share: float) -> str:
    """``31.4 %``; ``100 %`` is all and ``0 %`` nothing, never what only rounds to it."""
    percent = share * 100
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= percent < 100 else f"{_short(percent)} %"


def count_text(count: int, noun: str) -> str:
    """``1 checkpoint``, ``3 checkpoints``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def list_text(words: Iterable[str], at_most: int = 3) -> str:
    """``a, b and 4 more``; empty for nothing."""
    known = list(words)
    shown, rest = known[:at_most], len(known) - at_most
    if rest > 0:
        return f"{', '.join(shown)} and {rest} more"
    return shown[0] if len(shown) == 1 else " and ".join([", ".join(shown[:-1]), shown[-1]]) if shown else ""


def brief(name: str) -> str:
    """For sentences: the names of long chains and SQL plans may run to kilobytes."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1].rstrip()}…"


def subtask_text(vertex: str | None, subtask: int | None) -> str:
    """``enrich/1``: subtasks are counted from 0 as in Flink's REST answers and web page."""
    name = brief(vertex or "a task")
    return name if subtask is None else f"{name}/{subtask}"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 1000 else f"{value:,.0f}"
