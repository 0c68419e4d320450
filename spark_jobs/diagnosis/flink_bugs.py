"""Which releases of Flink have which known fault, as far as that is known."""

from typing import Literal

from ingest.messages import message

Affected = Literal["yes", "no", "unknown"]

FLINK_23949 = "FLINK-23949"
"""After a savepoint the RocksDB backend forgot what it had uploaded, so the next incremental
checkpoint uploads everything.
"""

FLINK_23949_RELEASES = message("1.11 to 1.13.2; fixed in 1.13.3 and 1.14.0")
_FIRST_KNOWN = (1, 11, 0)
_FIXED = (1, 13, 3)


def has_flink_23949(version: tuple[int, ...] | None) -> Affected:
    """``version``: (1, 12, 5), or (1, 12) where the patch is not known.

    Releases before 1.11 were not examined: unknown.
    """
    if version is None or version < _FIRST_KNOWN[: len(version)] or version == _FIXED[:2]:
        return "unknown"
    return "no" if version >= _FIXED[: len(version)] else "yes"
