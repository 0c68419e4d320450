"""Which releases of Flink have which known fault, as far as that is known."""

from collections.abc import Sequence
from typing import Literal

Affected = Literal["yes", "no", "unknown"]

FLINK_23949 = "FLINK-23949"
"""After a savepoint the RocksDB backend forgot what it had uploaded, so the next incremental checkpoint uploads everything."""

FLINK_23949_RELEASES = "1.11 to 1.13.2; fixed in 1.13.3 and 1.14.0"
_FIRST_KNOWN = (1, 11, 0)
_FIXED = (1, 13, 3)


def has_flink_23949(version: str | None) -> Affected:
    """``version`` as Flink reports it ('1.12.5'). Releases before 1.11 were not examined: unknown."""
    numbers = release(version)
    if numbers is None or numbers < _FIRST_KNOWN[: len(numbers)]:
        return "unknown"
    if len(numbers) == 2 and numbers == _FIXED[:2]:
        return "unknown"
    return "no" if numbers >= _FIXED[: len(numbers)] else "yes"


def release(version: str | None) -> tuple[int, ...] | None:
    """(1, 12, 5) of '1.12.5' or '1.12.5-vendor-2'; None where it is no release number."""
    parts: list[int] = []
    for part in _number_part(version or "").split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts[:3]) if len(parts) >= 2 else None


def _number_part(version: str) -> str:
    words: Sequence[str] = version.replace("_", "-").split("-", 1)
    return words[0]
