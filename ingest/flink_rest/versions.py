"""Parses the version that Flink reports: ``1.20.5``, ``2.3-SNAPSHOT``, ``1.20.5-rc1``, vendors'
``1.20-vvr-8.0.11``.
"""

import re

_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?![0-9])(?:\.([0-9]{1,3})(?![0-9]))?")

MAX_VERSION_CHARS = 60
UNKNOWN = "<unknown>"
_NOTHING_ELSE = re.compile(rf"[\w.+-]{{3,{MAX_VERSION_CHARS}}}", re.ASCII)

KNOWN_RELEASES = frozenset((1, minor) for minor in range(12, 21)) | frozenset(
    (2, minor) for minor in range(0, 4)
)


def release(version: str | None) -> tuple[int, ...] | None:
    """(1, 20, 5) of ``1.20.5-rc1``, (1, 14) of ``1.14-csa1.7.0.0``, ``None`` without a release.
    Compare with (1, 13): a release of two numbers is any patch of it.
    """
    match = _VERSION.match(version or "")
    return tuple(int(number) for number in match.groups() if number is not None) if match else None


def named_release(version: str | None) -> tuple[tuple[int, ...], str] | None:
    """The numbers of :func:`release`, and what a vendor, a snapshot or a candidate appends."""
    text = (version or "").strip()
    match = _VERSION.match(text)
    numbers = release(text)
    return (numbers, text[match.end() :]) if match and numbers else None


def is_version(text: object) -> bool:
    """Whether the text is only a release, perhaps with a vendor's suffix: safe to show."""
    return (
        isinstance(text, str)
        and release(text) is not None
        and _NOTHING_ELSE.fullmatch(text) is not None
    )


def major(version: str | None) -> int | None:
    parts = release(version)
    return parts[0] if parts else None


def is_known(version: str | None) -> bool:
    return (release(version) or ())[:2] in KNOWN_RELEASES


def has_time_metrics(version: str | None) -> bool:
    """Busy and back-pressured time exist since 1.13; assumed for an unknown release."""
    parts = release(version)
    return parts is None or parts >= (1, 13)
