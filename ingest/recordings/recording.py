import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from ingest.errors import Refused, Skipped
from ingest.flink_logs.files import read_files
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_rest.payloads.fields import clean_text
from ingest.flink_rest.versions import MAX_VERSION_CHARS
from ingest.metadata.evidence import SOURCE, rows_of
from ingest.metadata.files import NAME, MetadataFile
from ingest.metadata.snapshot_selection import SnapshotSelection
from ingest.recordings.polls import Polls
from ingest.recordings.rest_file import read_rest_file
from ingest.records import Checkpoint, LogRecord, Observed, Record, Skip
from ingest.regular_files import open_regular
from ingest.uris import BadUri, canonical

MOST_FILE_BYTES = 64 * 1024 * 1024
_FOLDERS = ("ckpt", "sp")


class SnapshotFiles:
    def __init__(self, directory: Path, cluster: str) -> None:
        self._cluster, self._directory = cluster, directory
        self._selection = SnapshotSelection()
        files = (
            path
            for folder in _FOLDERS
            for path in _readable(directory, sorted((directory / folder).rglob(NAME)), [])
        )
        self._files = {_key(path.parent.as_posix()): path for path in files}
        self._read_or_listed: set[str] = set()

    def of_observed(self, observed: Sequence[Observed]) -> Iterator[tuple[Observed, int]]:
        if not self._files or not observed:
            return
        at = max(reading.observed_at for reading in observed)
        selected = self._selection.select(observed)
        self._read_or_listed.update(selected)
        for snapshot in (*selected, *self._without_full_size(observed)):
            path = self._files.get(_key(snapshot))
            if path is not None:
                records, size = self._read(path, snapshot)
                yield (
                    Observed(
                        self._cluster, at, SOURCE, records if snapshot in selected else records[-1:]
                    ),
                    size,
                )

    def _without_full_size(self, observed: Sequence[Observed]) -> list[str]:
        """Completed checkpoints without a full size in REST (before 1.15)."""
        paths = (
            record.external_path
            for reading in observed
            for record in reading.records
            if isinstance(record, Checkpoint)
            and record.status == "COMPLETED"
            and not record.is_savepoint
            and record.external_path
            and record.checkpointed_bytes is None
        )
        paths_to_read = [path for path in dict.fromkeys(paths) if path not in self._read_or_listed]
        self._read_or_listed.update(paths_to_read)
        return paths_to_read

    def _read(self, path: Path, snapshot: str) -> tuple[tuple[Record, ...], int]:
        try:
            size = path.stat().st_size
            # No time of modification: that of the copy is not the file's.
            flink_path = f"{canonical(snapshot).removesuffix(f'/{NAME}')}/{NAME}"
            file = MetadataFile(flink_path, size, None, str(path), str(self._directory))
            return tuple(rows_of(file, MOST_FILE_BYTES)), size
        except (Skipped, BadUri, OSError) as error:
            return (
                Skip(
                    str(path),
                    "bad_metadata" if isinstance(error, Skipped) else "unreadable_file",
                    str(error),
                ),
            ), 0


def _key(directory: str) -> str:
    parts = directory.rstrip("/").removesuffix(f"/{NAME}").split("/")
    return "/".join(parts[-2:] if parts[-1].startswith("chk-") else parts[-1:])


# Output of processes, and logs of RocksDB, which Flink moves to its logs. Both have no layout.
_NOT_A_LOG = re.compile(r"\..*|.*\.(out|err)|(.*_)?LOG(\.old.*)?")
_MOST_SKIPS = 100


@dataclass(frozen=True, slots=True)
class Bundle:
    directory: Path
    rest_files: tuple[Path, ...]
    log_files: tuple[Path, ...]
    skips: tuple[Skip, ...]

    def open(self, path: Path) -> BinaryIO:
        return open_regular(path, within=self.directory)


def bundle_at(directory: Path) -> Bundle:
    skips: list[Skip] = []
    rest_files = (
        path for path in directory.glob("rest*.jsonl*") if path.suffix in (".jsonl", ".gz")
    )
    log_files = (
        path
        for path in (directory / "logs").rglob("*")
        if not path.is_dir() and not _NOT_A_LOG.fullmatch(path.name)
    )
    files = [tuple(_readable(directory, sorted(paths), skips)) for paths in (rest_files, log_files)]
    return Bundle(directory, files[0], files[1], tuple(skips[:_MOST_SKIPS]))


def _readable(directory: Path, paths: list[Path], skips: list[Skip]) -> Iterator[Path]:
    for path in paths:
        try:
            open_regular(path, within=directory).close()
        except OSError as error:
            name = ascii(str(path.relative_to(directory)))[1:-1]
            skips.append(
                Skip(name, "unreadable_file", f"It is left out: {error.strerror or error}.")
            )
        else:
            yield path


MAX_SCENARIO_BYTES = 1_000_000

Progress = Callable[[str], None]
Piece = tuple[tuple[Observed, ...], int]


class Recording:
    """Raises ``Refused`` if the folder is no recording, or if time zone or layout is wrong.
    ``jobs_seen`` and ``flink_version`` are complete when ``read`` has ended.
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
        zone_of(log_time_zone, layout_of(log_layout))  # raises ``Refused``
        self._polls = Polls(cluster, _declared_version(self._bundle))
        self._snapshots = SnapshotFiles(directory, cluster)

    @property
    def jobs_seen(self) -> set[str]:
        return self._polls.jobs_seen

    @property
    def flink_version(self) -> str | None:
        return self._polls.flink_version

    def read(self, progress: Progress = lambda _: None) -> Iterator[Piece]:
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
        for reading, read_bytes in self._snapshots.of_observed(observed):
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
    """The version for answers that were recorded before ``/config``."""
    try:
        with bundle.open(bundle.directory / "scenario.json") as file:
            version = json.loads(file.read(MAX_SCENARIO_BYTES)).get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return clean_text(version, MAX_VERSION_CHARS) if isinstance(version, str) else None
