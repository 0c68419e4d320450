"""Which local files Weir reads for a cluster. Its own folders hold secrets, the database and the
lake: of them only the demo's logs and lines that it stored for this cluster
(``LogSource.own_globs``) are read. Where ``WEIR_READ_DIRS`` lists directories, nothing outside of
them is read.

Refusals are sentences, "" if nothing is refused.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import fsspec

import ingest.network.schemes  # noqa: F401 - what it adds to fsspec's
from ingest.beneath import Unusable
from ingest.messages import message
from ingest.network.uris import schemes_of

VARIABLE = "WEIR_READ_DIRS"
_DEFAULT_HOME = Path(__file__).parents[1] / "var"
_OTHER_FOLDERS = ("WEIR_LAKE_ROOT", "WEIR_RUNS_ROOT", "WEIR_PLANS_ROOT")
_PLAYED = "demo"
_OF_THE_SYSTEM = ("/proc", "/sys")
_LOCAL = frozenset({"file", "local"})
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.%]*\]")
_PREFIX = re.compile(r"(?:file|local):(?://)?")
NO_STORES = frozenset(
    {
        "async_wrapper",
        "asynclocal",
        "asyncwrapper",
        "blockcache",
        "cached",
        "dir",
        "filecache",
        "generic",
        "libarchive",
        "reference",
        "simplecache",
        "tar",
        "zip",
        "box",
        "dask",
        "data",
        "dbfs",
        "dropbox",
        "dvc",
        "gdrive",
        "gist",
        "git",
        "github",
        "hf",
        "jlab",
        "jupyter",
        "pyscript",
        "wandb",
    }
)
"""Schemes of fsspec that are no storage of Flink."""


class NotAllowed(Unusable):
    pass


def read_directories() -> tuple[str, ...]:
    """Resolved; none means everywhere."""
    given = (text.strip() for text in os.environ.get(VARIABLE, "").split(","))
    return tuple(os.path.realpath(text) for text in given if text)


def local_path(uri: str) -> str | None:
    """The absolute path as fsspec reads it; None for a URI of a store elsewhere."""
    if "://" in uri and not schemes_of(uri) <= _LOCAL:
        return None
    # as fsspec does, globs included
    return os.path.abspath(os.path.expanduser(_PREFIX.sub("", uri)))  # noqa: PTH100, PTH111


def refusal_of_chain(uri: str) -> str:
    if "::" in _IPV6.sub("", uri):
        return message("Give one path or URI, not a chain of them.")
    if refused := sorted(schemes_of(uri) & NO_STORES):
        return message(
            "{refused:name}:// is not a storage that Flink writes to; give a path, or a URI "
            "such as s3://bucket/directory.",
            refused=refused[0],
        )
    return ""


def refusal_of_entry(pattern: str) -> str:
    if refused := refusal_of_chain(pattern):
        return refused
    path = local_path(pattern)
    return "" if path is None else refusal_of_file(_fixed_part(path))


def refusal_of_file(path: str) -> str:
    """With links resolved."""
    resolved = os.path.realpath(path)
    if refused := refusal_of_own(resolved):
        return refused
    if any(_is_within(resolved, place) for place in _OF_THE_SYSTEM):
        return message(
            "It is a view of running processes, which may show their keys; name the files that "
            "Flink writes."
        )
    listed = read_directories()
    is_played = _is_within(resolved, f"{_home()}/{_PLAYED}")
    if (
        listed
        and not is_played
        and not any(_is_within(resolved, directory) for directory in listed)
    ):
        return message(
            "It lies in no directory that {variable:text} lists; move the files there, or have it "
            "listed.",
            variable=VARIABLE,
        )
    return ""


def listed_directory(path: str) -> str | None:
    resolved = os.path.realpath(path)
    directory = next((place for place in read_directories() if _is_within(resolved, place)), None)
    return None if directory is None or refusal_of_file(resolved) else directory


def refusal_of_tree(uri: str) -> str:
    """The tree is one of Weir's own folders, or holds one."""
    if refused := refusal_of_chain(uri):
        return refused
    if unread := sorted(schemes_of(uri) - {*fsspec.available_protocols(), *fsspec.registry}):
        return message(
            "Weir has no client that reads {unread:name}://. Say where else the same files can be "
            "read: a mount, or a URI such as s3://, abfs://, gs://, hdfs:// or webhdfs://.",
            unread=unread[0],
        )
    path = local_path(uri)
    if path is None:
        return ""
    if refused := refusal_of_own(path):
        return refused
    if any(_is_within(own, os.path.realpath(path)) for own in _own()):
        return message("It holds Weir's own folder; name the directory that Flink writes to.")
    return ""


def refusal_of_own(path: str) -> str:
    resolved = os.path.realpath(path)
    if not _is_within(resolved, f"{_home()}/{_PLAYED}") and any(
        _is_within(resolved, own) for own in _own()
    ):
        return message(
            "It lies in Weir's own folder, of which nothing is read; name the files that Flink "
            "writes."
        )
    return ""


def check_file(path: str | Path) -> None:
    """Raises :class:`NotAllowed`."""
    if refused := refusal_of_file(str(path)):
        raise NotAllowed(refused)


def _own() -> Iterator[str]:
    yield _home()
    others = (local_path(os.environ[name]) for name in _OTHER_FOLDERS if os.environ.get(name))
    yield from (os.path.realpath(path) for path in others if path)


def _home() -> str:
    return os.path.realpath(Path(os.environ.get("WEIR_HOME") or _DEFAULT_HOME).expanduser())


def _fixed_part(pattern: str) -> str:
    parts = pattern.split("/")
    fixed = next(
        (place for place, part in enumerate(parts) if any(mark in part for mark in "*?[")), None
    )
    return pattern if fixed is None else "/".join(parts[:fixed]) or "/"


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
