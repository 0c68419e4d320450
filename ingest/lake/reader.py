"""Never open a lake in a process that forks later: the Delta library has threads."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from ingest.lake import data_files
from ingest.lake.damage import broken_file, readable_errors
from ingest.lake.derived import ALL_TABLES
from ingest.lake.news import ROUTINE
from ingest.lake.tables import Table, with_columns


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a version. Bounds of ``commit_seq`` and of the time column are None if they
    were not recorded.
    """

    uri: str
    size_bytes: int
    rows: int
    first_seq: int | None
    last_seq: int | None
    first_time: datetime | None
    last_time: datetime | None


@dataclass(frozen=True)
class LakeReader:
    root: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def version(self, table: str) -> int:
        delta = self.open_or_none(ALL_TABLES[table])
        return delta.version() if delta else 0

    def transactions(self, table: str, names: Sequence[str]) -> list[int]:
        """For each name, the version of the newest Delta transaction of that name, else 0."""
        delta = self.open_or_none(ALL_TABLES[table])
        return [(delta.transaction_version(name) or 0) if delta else 0 for name in names]

    def is_at(self, commits: Mapping[str, int]) -> bool:
        newest = self.version if self.local_root is None else self._newest_logged
        return all(newest(table) == seq for table, seq in commits.items())

    def _newest_logged(self, table: str) -> int:
        try:
            names = [path.name for path in Path(f"{self.local_root}/{table}/_delta_log").iterdir()]
        except OSError:
            return 0
        return max(
            (int(name[:20]) for name in names if name[:20].isdigit() and name[20:] == ".json"),
            default=0,
        )

    def has_news(self, table: str, after: int) -> bool:
        # Compaction and removal of rows are not WRITE.
        return any(
            commit["operation"] == "WRITE" and ROUTINE not in commit
            for commit in self._commits(table, after)
        )

    def commit_times(self, table: str, after: int) -> dict[int, int]:
        """Version → time of its commit in epoch ms. Old commits may be absent."""
        return {commit["version"]: commit["timestamp"] for commit in self._commits(table, after)}

    def _commits(self, table: str, after: int) -> list[dict[str, Any]]:
        delta = self.open_or_none(ALL_TABLES[table])
        later = delta.version() - after if delta else 0
        if delta is None or later <= 0:
            return []
        with self.readable_errors(ALL_TABLES[table]):
            return list(delta.history(later))

    def files(
        self,
        table: str,
        *,
        after_seq: int = 0,
        up_to_seq: int | None = None,
        from_time: datetime | None = None,
        to_time: datetime | None = None,
    ) -> list[DataFile]:
        """Files that may have rows with ``after_seq < commit_seq <= up_to_seq`` from ``from_time``
        to ``to_time``. Callers still filter rows.
        """
        delta = self.open_or_none(ALL_TABLES[table])
        if delta is None:
            return []
        return [
            file
            for file in _data_files(delta, ALL_TABLES[table].time_column)
            if _may_reach(after_seq + 1, file.last_seq)
            and _may_reach(file.first_seq, up_to_seq)
            and _may_reach(from_time, file.last_time)
            and _may_reach(file.first_time, to_time)
        ]

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
        declared = ALL_TABLES[table]
        whole = declared.schema
        names = columns or whole.names
        schema = pa.schema([whole.field(name) for name in names])
        delta = self.open_or_none(declared)
        if delta is None:
            return schema.empty_table()
        time = pc.field(declared.time_column)
        condition = (time >= _ms(from_time)) & (time <= _ms(to_time))
        condition &= (pc.field("date") >= from_time.astimezone(UTC).date()) & (
            pc.field("date") <= to_time.astimezone(UTC).date()
        )
        for name, value in where.items():
            condition &= pc.field(name) == value
        with self.readable_errors(declared, checks_files=True):
            folder = self.local_root / table if self.local_root else None
            rows = data_files.dataset(delta, folder, self.storage_options, condition)
            stored_names = [name for name in names if name in rows.schema.names]
            stored = rows.scanner(columns=stored_names, filter=condition).head(limit)
            return with_columns(stored, schema)

    def broken_file(self, table: str) -> str:
        """What is wrong with the first unreadable data file; "" if there is none, or if the lake is
        not local.
        """
        if self.local_root is None:
            return ""
        uris = (file.uri for file in reversed(self.files(table)))
        return broken_file(
            ALL_TABLES[table], (Path(unquote(uri.removeprefix("file://"))) for uri in uris)
        )

    def open_or_none(self, table: Table) -> DeltaTable | None:
        try:
            with self.readable_errors(table):
                return DeltaTable(
                    self.uri(table), storage_options=dict(self.storage_options) or None
                )
        except TableNotFoundError:
            return None

    def uri(self, table: Table) -> str:
        return f"{self.root.rstrip('/')}/{table.name}"

    def readable_errors(
        self, table: Table, *, checks_files: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        root = self.local_root
        in_files = partial(self.broken_file, table.name) if checks_files else str
        return readable_errors(
            table, self.uri(table), root / table.name if root else None, in_files
        )

    @property
    def local_root(self) -> Path | None:
        if "://" in self.root and not self.root.startswith("file://"):
            return None
        return Path(self.root.removeprefix("file://"))


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


def _may_reach(first: Any, last: Any) -> bool:
    """None: unknown, or unlimited."""
    return first is None or last is None or bool(first <= last)


def _aware(instant: datetime | None) -> datetime | None:
    return instant if instant is None or instant.tzinfo else instant.replace(tzinfo=UTC)


def _ms(instant: datetime) -> pa.Scalar:
    return pa.scalar(instant, type=pa.timestamp("ms", tz="UTC"))
