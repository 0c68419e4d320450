"""Flink version texts: ``1.20.5``, ``2.3.0``, ``1.18-SNAPSHOT``, vendors' ``1.15.2-vvr-6.0``."""

import re

_VERSION = re.compile(r"^(\d{1,3})\.(\d{1,3})")

MAX_VERSION_CHARS = 60

KNOWN_RELEASES = frozenset((1, minor) for minor in range(12, 21)) | frozenset((2, minor) for minor in range(0, 4))


def release(version: str | None) -> tuple[int, int] | None:
    """(major, minor), ``None`` where the text has none."""
    found = _VERSION.match(version or "")
    return (int(found[1]), int(found[2])) if found else None


def major(version: str | None) -> int | None:
    """2 of ``2.3.0``."""
    found = release(version)
    return found[0] if found else None


def is_known(version: str | None) -> bool:
    """Whether this reader was made for that release: 1.12 to 2.3."""
    return release(version) in KNOWN_RELEASES


def has_time_metrics(version: str | None) -> bool:
    """Busy and back-pressured time per subtask exist from 1.13 on; assumed of an unknown release."""
    found = release(version)
    return found is None or found >= (1, 13)
