"""The process that wrote a log file, by the file's name alone."""

import re
from datetime import date

COMPRESSION = r"\.(?:gz|bz2|xz|zst)$"
ROTATION = r"(?<=[A-Za-z])\.[0-9]{1,4}$"
DATE = r"[.-][0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[-_.T][0-9]{1,6}){0,3}(?=\.[A-Za-z]+$|$)"
SUFFIXES: tuple[str, ...] = (COMPRESSION, ROTATION, DATE, ROTATION)
"""Removed one after the other."""

_SUFFIXES = tuple(re.compile(suffix) for suffix in SUFFIXES)
_DAY = re.compile(r"(?<![0-9])(20[0-9]{2})-?([0-9]{2})-?([0-9]{2})(?![0-9])")
_NUMBER = re.compile(r"[.-]([0-9]{1,4})(?=\.log)?(?:\.(?:gz|bz2|xz|zst))?$")


def process_of(path: str) -> str:
    """``…/jm.log.3.gz``, ``jm.log-20261121`` and ``jm.log`` are the same process ``jm.log``."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    shortened = name
    for suffix in _SUFFIXES:
        shortened = suffix.sub("", shortened)
    return shortened or name


def day_of(path: str) -> date | None:
    """The day that a file is named by."""
    match = _DAY.search(path.rsplit("/", 1)[-1])
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def is_rotated(path: str) -> bool:
    """Whether the name says that its process writes elsewhere by now."""
    return path.rstrip("/").rsplit("/", 1)[-1] != process_of(path)


def is_packed(path: str) -> bool:
    return re.search(COMPRESSION, path) is not None


def age_order(path: str) -> tuple[str, int, str]:
    """Sort key by which the files of one process come oldest first: ``.log.2``, ``.log.1``, ``.log``."""
    match = _NUMBER.search(path) if is_rotated(path) else None
    return process_of(path), -int(match.group(1)) if match else (-1 if is_rotated(path) else 0), path
