"""Which local files Weir reads for a cluster.

Weir's own folders hold secrets, the database and the lake. Only two kinds of files in them are
read: the demo's, and lines that Weir stored for this cluster (``LogSource.own_globs``). If
``WEIR_READ_DIRS`` lists directories, nothing outside of these is read.

Each ``refusal_of_…`` returns a sentence, or "" if nothing is refused.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import fsspec

import ingest.network.schemes  # noqa: F401 - registers more schemes in fsspec
from ingest.beneath import Unusable
from ingest.messages import message
from ingest.network.uris import schemes_of

VARIABLE = "WEIR_READ_DIRS"
_DEFAULT_HOME = Path(__file__).parents[1] / "var"
_FOLDER_VARIABLES = ("WEIR_LAKE_ROOT", "WEIR_RUNS_ROOT", "WEIR_PLANS_ROOT")
_DEMO = "demo"
_SYSTEM_TREES = ("/proc", "/sys")
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


class NotAllowed(Unusable):
    pass


def read_directories() -> tuple[str, ...]:
    """Directories with links resolved. Empty: files are read everywhere."""
    texts = (text.strip() for text in os.environ.get(VARIABLE, "").split(","))
    return tuple(os.path.realpath(text) for text in texts if text)


def local_path(uri: str) -> str | None:
    """The absolute path, as fsspec reads it; globs stay. None if the URI is not local."""
    if "://" in uri and not schemes_of(uri) <= _LOCAL:
        return None
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
    return "" if path is None else refusal_of_file(_part_before_globs(path))


def refusal_of_file(path: str) -> str:
    """Checks the file to which links lead."""
    resolved = os.path.realpath(path)
    if refused := refusal_of_own_folder(resolved):
        return refused
    if any(_is_within(resolved, place) for place in _SYSTEM_TREES):
        return message(
            "It is a view of running processes, which may show their keys; name the files that "
            "Flink writes."
        )
    directories = read_directories()
    is_of_demo = _is_within(resolved, f"{_home()}/{_DEMO}")
    if (
        directories
        and not is_of_demo
        and not any(_is_within(resolved, directory) for directory in directories)
    ):
        return message(
            "It lies in no directory that {variable:text} lists; move the files there, or have it "
            "listed.",
            variable=VARIABLE,
        )
    return ""


def listed_directory(path: str) -> str | None:
    """The directory of ``WEIR_READ_DIRS`` that holds ``path``; None also for refused files."""
    resolved = os.path.realpath(path)
    directory = next((place for place in read_directories() if _is_within(resolved, place)), None)
    return None if directory is None or refusal_of_file(resolved) else directory


def refusal_of_tree(uri: str) -> str:
    """Refuses also trees in one of Weir's own folders, or above one."""
    if refused := refusal_of_chain(uri):
        return refused
    if schemes := sorted(schemes_of(uri) - {*fsspec.available_protocols(), *fsspec.registry}):
        return message(
            "Weir has no client that reads {unread:name}://. Say where else the same files can be "
            "read: a mount, or a URI such as s3://, abfs://, gs://, hdfs:// or webhdfs://.",
            unread=schemes[0],
        )
    path = local_path(uri)
    if path is None:
        return ""
    if refused := refusal_of_own_folder(path):
        return refused
    if any(_is_within(folder, os.path.realpath(path)) for folder in _own_folders()):
        return message("It holds Weir's own folder; name the directory that Flink writes to.")
    return ""


def refusal_of_own_folder(path: str) -> str:
    resolved = os.path.realpath(path)
    if not _is_within(resolved, f"{_home()}/{_DEMO}") and any(
        _is_within(resolved, folder) for folder in _own_folders()
    ):
        return message(
            "It lies in Weir's own folder, of which nothing is read; name the files that Flink "
            "writes."
        )
    return ""


def check_file(path: str | Path) -> None:
    if refused := refusal_of_file(str(path)):
        raise NotAllowed(refused)


def _own_folders() -> Iterator[str]:
    yield _home()
    paths = (local_path(os.environ[name]) for name in _FOLDER_VARIABLES if os.environ.get(name))
    yield from (os.path.realpath(path) for path in paths if path)


def _home() -> str:
    return os.path.realpath(Path(os.environ.get("WEIR_HOME") or _DEFAULT_HOME).expanduser())


def _part_before_globs(pattern: str) -> str:
    parts = pattern.split("/")
    first_glob = next(
        (place for place, part in enumerate(parts) if any(mark in part for mark in "*?[")), None
    )
    return pattern if first_glob is None else "/".join(parts[:first_glob]) or "/"


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
