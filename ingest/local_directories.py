"""Which local files Weir reads for a cluster: logs, archives, audit logs of a NameNode.

Whoever registers a cluster names them, so that a path must not lead to what others own. Weir's own
folder holds secrets, the database and the lake: nothing of it is ever read in this way, except the
folders in which lines wait that Weir itself wrote for this purpose. Where ``WEIR_READ_DIRS`` lists
directories, nothing outside of them is read.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ingest.network.uris import schemes_of

VARIABLE = "WEIR_READ_DIRS"
SPOOLS = ("pushed", "pulled")
"""Folders of Weir's own in which lines of logs wait for the collector."""
DEMO = "demo"
"""Weir's own folder of recordings that it plays: anybody has the same."""
_DEFAULT_HOME = Path(__file__).parents[1] / "var"
_ELSEWHERE = ("WEIR_LAKE_ROOT", "WEIR_RUNS_ROOT", "WEIR_PLANS_ROOT", "WEIR_REPORTS_ROOT")
_OF_THE_SYSTEM = ("/proc", "/sys")
_LOCAL = {"file", "local"}
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.%]*\]")


def read_directories(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Resolved directories that ``WEIR_READ_DIRS`` lists, separated by commas; none means everywhere."""
    given = (text.strip() for text in environment.get(VARIABLE, "").split(","))
    return tuple(os.path.realpath(text) for text in given if text)


def local_path(pattern: str) -> str | None:
    """The path of a local file, folder or glob; None for a URI of a store elsewhere."""
    if "://" not in pattern:
        return pattern
    return urlsplit(pattern).path if schemes_of(pattern) <= _LOCAL else None


def is_chain(pattern: str) -> bool:
    """Whether file systems are put one over the other, as in ``simplecache::file://…``; not by the colons of an IPv6 address."""
    return "::" in _IPV6.sub("", pattern)


def refusal_of_entry(pattern: str, environment: Mapping[str, str] = os.environ) -> str:
    """Why nobody may enter this path, glob or URI, as a sentence; "" where they may."""
    if is_chain(pattern):
        return "Give one path or URI, not a chain of them."
    path = local_path(pattern)
    return "" if path is None else _refusal(_fixed_part(path), environment)


def refusal_of_file(path: str, pattern: str, environment: Mapping[str, str] = os.environ) -> str:
    """Why a local file that ``pattern`` matched is not read, as a sentence; "" where it is."""
    resolved = os.path.realpath(path)
    for name in SPOOLS:
        spool = f"{_home(environment)}/{name}"
        if _is_within(os.path.realpath(_fixed_part(pattern)), spool) and _is_within(resolved, spool):
            return ""
    return _refusal(resolved, environment)


def _refusal(path: str, environment: Mapping[str, str]) -> str:
    resolved = os.path.realpath(path)
    if _is_within(resolved, f"{_home(environment)}/{DEMO}"):
        return ""
    if any(_is_within(resolved, directory) for directory in _own_directories(environment)):
        return "It lies in Weir's own folder, of which nothing is read; name the files that Flink writes."
    if any(_is_within(resolved, directory) for directory in _OF_THE_SYSTEM):
        return "It is a view of running processes, which may show their keys; name the files that Flink writes."
    listed = read_directories(environment)
    if listed and not any(_is_within(resolved, directory) for directory in listed):
        return f"It lies in no directory that {VARIABLE} lists; move the files there, or have it listed."
    return ""


def _home(environment: Mapping[str, str]) -> str:
    return os.path.realpath(Path(environment.get("WEIR_HOME") or _DEFAULT_HOME).expanduser())


def _own_directories(environment: Mapping[str, str]) -> list[str]:
    """Weir's home, and what of it the environment puts elsewhere on this machine."""
    elsewhere = (local_path(environment.get(name, "")) for name in _ELSEWHERE)
    return [_home(environment), *(os.path.realpath(path) for path in elsewhere if path)]


def _fixed_part(pattern: str) -> str:
    """The directories before the first wildcard, or the whole path without one."""
    parts = pattern.split("/")
    fixed = next((place for place, part in enumerate(parts) if any(mark in part for mark in "*?[")), None)
    return pattern if fixed is None else "/".join(parts[:fixed]) or "/"


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
