"""The lake: Delta tables on a local disk, HDFS or object storage, written without a JVM.

Every row carries ``commit_seq``, the version of its table that brought it. Writers agree on it by
optimistic commits: a writer stamps the next version and commits without automatic rebase; the one that
loses re-stamps and tries again. So rows become visible in the order of ``commit_seq``, a reader that
has seen version V has seen every row up to V, and compaction, which moves rows into new files,
neither adds nor renumbers any.

The Delta library runs threads of its own: never open a lake in a process that forks afterwards.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from ingest.errors import Refused
from ingest.lake.added_columns import lacking_columns, with_columns
from ingest.lake.damage import LakeDamaged, broken_file, readable_errors
from ingest.lake.derived import ALL_TABLES
from ingest.lake.news import has_news
from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import Table
from ingest.records import Observed, Record

KEEP_REPLACED_FILES = timedelta(hours=24)
"""Replaced files stay this long, so that a reader pinned to an older version finds them."""

GIVE_UP_COMMIT_AFTER_S = 120

ROUTINE = "weir.routine"
"""In the description of a commit that brought no news."""


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a pinned version, with the bounds its commit recorded."""

    uri: str
    size_bytes: int
    rows: int
    first_seq: int | None
    last_seq: int | None
    first_time: datetime | None
    last_time: datetime | None


@dataclass(frozen=True)
class Lake:
    """All raw and derived tables below one root.

    ``root`` is a path or a URI (``file:``, ``hdfs:``, ``s3:``); ``storage_options`` are those of the
    Delta library for that kind of storage.
    """

    root: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def append(self, observed: Iterable[Observed]) -> dict[str, int]:
        """Write the readings, one commit per table that has rows; returns table name → version.

        Safe to repeat: the same rows again are duplicates by the table's identity, which every
        reader folds. Raises the storage's own error when a commit does not succeed in two minutes, and ``LakeDamaged`` where a table
        cannot be written, once all others are.
        """
        versions: dict[str, int] = {}
        damage: LakeDamaged | None = None
        for name, rows in group_by_table(observed).items():
            try:
                versions[name] = self._append(ALL_TABLES[name], rows)
            except LakeDamaged as error:
                damage = damage or error
        if damage:
            raise damage
        return versions

    def version(self, table: str) -> int:
        """Newest version; 0 where nothing was ever written."""
        delta = self._open_or_none(ALL_TABLES[table])
        return delta.version() if delta else 0

    def transactions(self, table: str, names: Sequence[str]) -> list[int]:
        """For each of these Delta transactions what the newest commit that names it says; 0 where none does."""
        delta = self._open_or_none(ALL_TABLES[table])
        return [(delta.transaction_version(name) or 0) if delta else 0 for name in names]

    def is_at(self, commits: Mapping[str, int]) -> bool:
        """Whether these tables stand at exactly these commits; on a local disk without opening any of them."""
        newest = self.version if self._local_root is None else self._newest_logged
        return all(newest(table) == seq for table, seq in commits.items())

    def _newest_logged(self, table: str) -> int:
        """The newest version by the names in the table's log; opening it would read what every file of it holds."""
        try:
            names = [path.name for path in Path(f"{self._local_root}/{table}/_delta_log").iterdir()]
        except OSError:
            return 0
        return max((int(name[:20]) for name in names if name[:20].isdigit() and name[20:] == ".json"), default=0)

    def has_news(self, table: str, after: int) -> bool:
        """Whether any commit later than version ``after`` brought news (:mod:`ingest.lake.news`)."""
        delta = self._open_or_none(ALL_TABLES[table])
        later = delta.version() - after if delta else 0
        if delta is None or later <= 0:
            return False
        with self._readable_errors(ALL_TABLES[table]):
            # Compaction and removal are recorded as other operations.
            return any(commit["operation"] == "WRITE" and ROUTINE not in commit for commit in delta.history(later))

    def files(
        self,
        table: str,
        *,
        version: int | None = None,
        after_seq: int = 0,
        from_time: datetime | None = None,
        to_time: datetime | None = None,
    ) -> list[DataFile]:
        """Files of a pinned version that may hold rows with ``commit_seq > after_seq`` in that time.

        Files are chosen by recorded bounds, so callers still filter rows. Empty where the table does not exist.
        """
        delta = self._open_or_none(ALL_TABLES[table], version)
        if delta is None:
            return []
        chosen = []
        for data_file in _data_files(delta, ALL_TABLES[table].time_column):
            if data_file.last_seq is not None and data_file.last_seq <= after_seq:
                continue
            if from_time and data_file.last_time and data_file.last_time < from_time:
                continue
            if to_time and data_file.first_time and data_file.first_time > to_time:
                continue
            chosen.append(data_file)
        return chosen

    def read(
        self,
        table: str,
        *,
        where: Mapping[str, str | int],
        from_time: datetime,
        to_time: datetime,
        columns: Sequence[str] | None = None,
        limit: int,
    ) -> pa.Table:
        """At most ``limit`` rows by equality on ``where`` and the table's time column in ``[from_time, to_time]``.

        Meant for pages: bounded by ``limit``, pruned by partition and file bounds.
        """
        declared = ALL_TABLES[table]
        wanted = list(columns or (column.name for column in declared.all_columns))
        delta = self._open_or_none(declared)
        if delta is None:
            return pa.schema([declared.schema.field(name) for name in wanted]).empty_table()
        time = pc.field(declared.time_column)
        condition = (time >= _ms(from_time)) & (time <= _ms(to_time))
        condition &= (pc.field("date") >= from_time.astimezone(UTC).date()) & (pc.field("date") <= to_time.astimezone(UTC).date())
        for name, value in where.items():
            condition &= pc.field(name) == value
        with self._readable_errors(declared, its_files=True):
            rows = delta.to_pyarrow_dataset()
            known = [name for name in wanted if name in rows.schema.names]
            return with_columns(rows.scanner(columns=known, filter=condition).head(limit), declared.schema, wanted)

    def broken_file(self, table: str) -> str:
        """What is wrong with the first data file that cannot be read, "" where all can or the lake lies elsewhere."""
        if self._local_root is None:
            return ""
        uris = (file.uri for file in reversed(self.files(table)))
        return broken_file(ALL_TABLES[table], (Path(unquote(uri.removeprefix("file://"))) for uri in uris))

    @contextlib.contextmanager
    def staged_commit(self, table: str) -> Iterator[tuple[DeltaTable, int]]:
        """Hold the table for a writer that stamps files itself: yields (table, version to stamp)."""
        declared = ALL_TABLES[table]
        with self._writers_turn(declared):
            delta = self._open(declared)
            yield delta, delta.version() + 1

    def compact(self, table: str) -> dict[str, object]:
        """Merge small files; readers of older versions keep theirs for 24 hours."""
        delta = self._open_or_none(ALL_TABLES[table])
        with self._readable_errors(ALL_TABLES[table], its_files=True):
            return dict(delta.optimize.compact()) if delta else {}

    def forget(self, table: str, before: date, spared_clusters: Sequence[str]) -> int:
        """Take out the rows of days before ``before``, but for those of some clusters; returns how many."""
        delta = self._open_or_none(ALL_TABLES[table])
        if delta is None:
            return 0
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in spared_clusters)
        spared = f" AND cluster NOT IN ({names})" if names else ""
        with self._readable_errors(ALL_TABLES[table], its_files=True):
            return int(delta.delete(f"date < '{before}'{spared}")["num_deleted_rows"])

    def vacuum(self, table: str) -> list[str]:
        """Remove files replaced more than 24 hours ago; returns what was removed."""
        delta = self._open_or_none(ALL_TABLES[table])
        if delta is None:
            return []
        hours = int(KEEP_REPLACED_FILES.total_seconds() // 3600)
        with self._readable_errors(ALL_TABLES[table], its_files=True):
            return delta.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False)

    def _append(self, table: Table, rows: Sequence[tuple[Observed, Record]]) -> int:
        described = None if has_news(record for _, record in rows) else {ROUTINE: "true"}
        for attempt in commit_attempts():
            with attempt, self._writers_turn(table):
                delta = self._open(table)
                version = delta.version() + 1
                write_deltalake(
                    delta,
                    to_arrow(table, rows, version),
                    mode="append",
                    writer_properties=WriterProperties(compression="ZSTD"),
                    commit_properties=CommitProperties(max_commit_retries=0, custom_metadata=described),
                )
                return version
        raise AssertionError("unreachable: Retrying either returns or raises")

    def _uri(self, table: Table) -> str:
        return f"{self.root.rstrip('/')}/{table.name}"

    def _open_or_none(self, table: Table, version: int | None = None) -> DeltaTable | None:
        try:
            with self._readable_errors(table):
                return DeltaTable(self._uri(table), version=version, storage_options=dict(self.storage_options) or None)
        except TableNotFoundError:
            return None

    def _open(self, table: Table) -> DeltaTable:
        """For a writer. A table that an earlier version made gets the columns that were added since."""
        delta = self._open_or_none(table)
        if delta is not None:
            if lacking := lacking_columns(delta, table):
                delta.alter.add_columns(lacking)
            return delta
        if self._local_root:
            self._local_root.mkdir(parents=True, exist_ok=True)
        return DeltaTable.create(
            self._uri(table),
            table.schema,
            mode="ignore",
            partition_by=["date"],
            description=table.row,
            # Bounds are recorded for these only: wide arrays would make the log larger than the data.
            configuration={"delta.dataSkippingStatsColumns": ",".join(_bounded_columns(table))},
            storage_options=dict(self.storage_options) or None,
        )

    def _readable_errors(self, table: Table, *, its_files: bool = False) -> contextlib.AbstractContextManager[None]:
        root = self._local_root
        in_files = partial(self.broken_file, table.name) if its_files else str
        return readable_errors(table, self._uri(table), root / table.name if root else None, in_files)

    @property
    def _local_root(self) -> Path | None:
        if "://" in self.root and not self.root.startswith("file://"):
            return None
        return Path(self.root.removeprefix("file://"))

    @contextlib.contextmanager
    def _writers_turn(self, table: Table) -> Iterator[None]:
        """On a local disk writers queue instead of racing; elsewhere optimistic commits alone decide."""
        root = self._local_root
        if root is None:
            yield
            return
        try:
            root.mkdir(parents=True, exist_ok=True)
            handle = os.open(root / f".{table.name.replace('/', '-')}.lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise Refused(f"The lake at {root} cannot be written ({error.strerror}); check WEIR_HOME or WEIR_LAKE_ROOT.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def commit_attempts() -> Retrying:
    """Losing the race for a version is normal with several writers; anything else is raised at once."""
    return Retrying(
        retry=retry_if_exception_type(CommitFailedError),
        wait=wait_random_exponential(multiplier=0.02, max=1),
        stop=stop_after_delay(GIVE_UP_COMMIT_AFTER_S),
        reraise=True,
    )


def _bounded_columns(table: Table) -> list[str]:
    names = ["commit_seq", table.time_column, "observed_at", "cluster"]
    names += [column.name for column in table.columns if column.name in ("job_id", "checkpoint_id", "process")]
    return list(dict.fromkeys(names))


def _data_files(delta: DeltaTable, time_column: str) -> Iterator[DataFile]:
    actions = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    uri_of = {uri.rstrip("/").rsplit("/", 1)[-1]: uri for uri in delta.file_uris()}
    for action in actions:
        yield DataFile(
            uri=uri_of[action["path"].rsplit("/", 1)[-1]],
            size_bytes=action["size_bytes"],
            rows=action.get("num_records") or 0,
            first_seq=action.get("min.commit_seq"),
            last_seq=action.get("max.commit_seq"),
            first_time=_aware(action.get(f"min.{time_column}")),
            last_time=_aware(action.get(f"max.{time_column}")),
        )


def _aware(instant: datetime | None) -> datetime | None:
    return instant if instant is None or instant.tzinfo else instant.replace(tzinfo=UTC)


def _ms(instant: datetime) -> pa.Scalar:
    return pa.scalar(instant, type=pa.timestamp("ms", tz="UTC"))
