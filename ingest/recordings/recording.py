"""One recording on disk: a folder with ``rest.jsonl`` (or ``.gz``) and ``logs/``."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from ingest.errors import Refused
from ingest.recordings.polls import Polls
from ingest.recordings.rest_file import read_rest_file
from ingest.records import Observed

Progress = Callable[[str], None]
Piece = tuple[tuple[Observed, ...], int]
"""Readings, and the recorded bytes that were read for them."""


class Recording:
    """Raises ``Refused`` where the folder is no recording.

    ``jobs_seen`` and ``flink_version`` are known once :meth:`read` has come to its end.
    """

    def __init__(self, directory: Path, cluster: str, log_time_zone: str = "UTC") -> None:
        self._cluster = cluster
        self._log_time_zone = log_time_zone
        self._rest_files = sorted(path for path in directory.glob("rest*.jsonl*") if path.suffix in (".jsonl", ".gz"))
        self._logs = directory / "logs"
        if not self._rest_files and not self._logs.is_dir():
            raise Refused(f"{directory} is no recording: it holds neither rest.jsonl (or rest.jsonl.gz) nor logs/.")
        self._polls = Polls(cluster, _declared_version(directory))

    @property
    def jobs_seen(self) -> set[str]:
        return self._polls.jobs_seen

    @property
    def flink_version(self) -> str | None:
        return self._polls.flink_version

    def read(self, progress: Progress = lambda _: None) -> Iterator[Piece]:
        """Everything in it, piece by piece in bounded memory; recorded times are kept."""
        for path in self._rest_files:
            progress(f"reading {path.name}")
            yield from self._rest(path)

    def _rest(self, path: Path) -> Iterator[Piece]:
        for recorded in read_rest_file(path):
            if recorded.skip:
                yield (Observed(self._cluster, recorded.at, "rest", (recorded.skip,)),), recorded.size_bytes
            elif recorded.answer:
                yield self._polls.add(recorded.answer, recorded.size_bytes), recorded.size_bytes
        yield self._polls.finish(), 0


def _declared_version(directory: Path) -> str | None:
    """The Flink version in ``scenario.json``, for recordings that begin before ``/config`` was asked."""
    try:
        text = (directory / "scenario.json").read_text(encoding="utf-8", errors="replace")[:1_000_000]
        version = json.loads(text).get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return version if isinstance(version, str) else None
