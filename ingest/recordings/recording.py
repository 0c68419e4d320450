"""One recording on disk: a folder with ``rest.jsonl`` (or ``.gz``) and ``logs/``, perhaps copies of
``_metadata``.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import Refused
from ingest.flink_logs.files import read_files
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_rest.payloads.fields import clean_text
from ingest.flink_rest.versions import MAX_VERSION_CHARS
from ingest.recordings.bundle import Bundle, bundle_at
from ingest.recordings.polls import Polls
from ingest.recordings.rest_file import read_rest_file
from ingest.recordings.snapshots import Snapshots
from ingest.records import LogRecord, Observed

MAX_SCENARIO_BYTES = 1_000_000

Progress = Callable[[str], None]
Piece = tuple[tuple[Observed, ...], int]


class Recording:
    """Raises ``Refused`` where the folder is no recording, or time zone or layout of its logs make
    no sense.

    ``jobs_seen`` and ``flink_version`` are known once :meth:`read` has come to its end.
    """

    def __init__(
        self, directory: Path, cluster: str, log_time_zone: str = "UTC", log_layout: str = "flink"
    ) -> None:
        self._cluster = cluster
        self._log_time_zone = log_time_zone
        self._log_layout = log_layout
        self._bundle = bundle_at(directory)
        if not self._bundle.rest_files and not (directory / "logs").is_dir():
            why = "".join(f" {skip.subject}: {skip.detail}" for skip in self._bundle.skips[:3])
            raise Refused(
                f"{directory} is no recording: it holds neither rest.jsonl (or rest.jsonl.gz) nor "
                f"logs/.{why}"
            )
        zone_of(log_time_zone, layout_of(log_layout))  # nonsense is refused before anything is read
        self._polls = Polls(cluster, _declared_version(self._bundle))
        self._snapshots = Snapshots(directory, cluster)

    @property
    def jobs_seen(self) -> set[str]:
        return self._polls.jobs_seen

    @property
    def flink_version(self) -> str | None:
        return self._polls.flink_version

    def read(self, progress: Progress = lambda _: None) -> Iterator[Piece]:
        """Everything in it, piece by piece in bounded memory; recorded times are kept."""
        if self._bundle.skips:
            at = datetime.fromtimestamp(self._bundle.directory.stat().st_mtime, UTC)
            yield (Observed(self._cluster, at, "rest", self._bundle.skips),), 0
        for path in self._bundle.rest_files:
            progress(f"reading {path.name}")
            yield from self._rest(path)
        if self._bundle.log_files:
            progress(f"reading {len(self._bundle.log_files)} log files")
            yield from self._logs()

    def _rest(self, path: Path) -> Iterator[Piece]:
        for recorded in read_rest_file(path):
            if recorded.skip:
                yield (
                    (Observed(self._cluster, recorded.at, "rest", (recorded.skip,)),),
                    recorded.size_bytes,
                )
            elif recorded.answer:
                yield from self._with_snapshots(
                    self._polls.add(recorded.answer, recorded.size_bytes), recorded.size_bytes
                )
        yield from self._with_snapshots(self._polls.finish(), 0)

    def _with_snapshots(self, observed: tuple[Observed, ...], size_bytes: int) -> Iterator[Piece]:
        yield observed, size_bytes
        for reading, read_bytes in self._snapshots.beside(observed):
            yield (reading,), read_bytes

    def _logs(self) -> Iterator[Piece]:
        paths = [str(path) for path in self._bundle.log_files]
        for observed in read_files(
            paths, cluster=self._cluster, layout=self._log_layout, time_zone=self._log_time_zone
        ):
            yield (
                (observed,),
                sum(
                    len(record.message)
                    for record in observed.records
                    if isinstance(record, LogRecord)
                ),
            )


def _declared_version(bundle: Bundle) -> str | None:
    """The Flink version in ``scenario.json``, for recordings that begin before ``/config`` was
    requested.
    """
    try:
        with bundle.open(bundle.directory / "scenario.json") as file:
            version = json.loads(file.read(MAX_SCENARIO_BYTES)).get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return clean_text(version, MAX_VERSION_CHARS) if isinstance(version, str) else None
