"""Parses the version that Flink reports: ``1.20.5``, ``2.3-SNAPSHOT``, ``1.20.5-rc1``, vendors'
``1.20-vvr-8.0.11``.
"""

import re

_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?![0-9])(?:\.([0-9]{1,3})(?![0-9]))?")

MAX_VERSION_CHARS = 60
UNKNOWN = "<unknown>"
_SAFE_TEXT = re.compile(rf"[\w.+-]{{3,{MAX_VERSION_CHARS}}}", re.ASCII)

KNOWN_RELEASES = frozenset((1, minor) for minor in range(12, 21)) | frozenset(
    (2, minor) for minor in range(0, 4)
)


def release(version: str | None) -> tuple[int, ...] | None:
    """(1, 20, 5) of ``1.20.5-rc1``, (1, 14) of ``1.14-csa1.7.0.0``; ``None`` without a release.
    A release of two numbers may be any patch: compare with tuples of two numbers.
    """
    match = _VERSION.match(version or "")
    return tuple(int(number) for number in match.groups() if number is not None) if match else None


def named_release(version: str | None) -> tuple[tuple[int, ...], str] | None:
    """The numbers of ``release``, and a vendor's, snapshot's or candidate's suffix."""
    text = (version or "").strip()
    match = _VERSION.match(text)
    numbers = release(text)
    return (numbers, text[match.end() :]) if match and numbers else None


def is_version(text: object) -> bool:
    """Whether the text is only a release, perhaps of a vendor: safe to show."""
    return (
        isinstance(text, str)
        and release(text) is not None
        and _SAFE_TEXT.fullmatch(text) is not None
    )


def major(version: str | None) -> int | None:
    numbers = release(version)
    return numbers[0] if numbers else None


def is_known(version: str | None) -> bool:
    return (release(version) or ())[:2] in KNOWN_RELEASES


def has_applications(version: str | None) -> bool:
    return (release(version) or ()) >= (2, 3)


def has_time_metrics(version: str | None) -> bool:
    numbers = release(version)
    return numbers is None or numbers >= (1, 13)
