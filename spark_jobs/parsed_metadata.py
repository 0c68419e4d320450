"""``_metadata`` as rows: from the lake if parsed before, else parsed now and stored there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, WriterProperties, write_deltalake

from ingest.lake.commit_attempts import commit_attempts
from ingest.lake.derived import READ_BY_SPARK
from ingest.lake.derived_commits import append, staged_commit
from ingest.lake.reader import LakeReader
from ingest.lake.tables import REFERENCES
from ingest.metadata.reader import READER_VERSION
from ingest.metadata.snapshots import READ, snapshots
from ingest.records import Observed
from spark_jobs.storage import parsing, reading
from spark_jobs.storage.plain import Key, Row, by
from spark_jobs.storage.snapshots import FAILED, PARSED

TABLE = REFERENCES.name
KEPT_FOR = timedelta(days=30)
"""Parsing a file again costs less than reading a year of rows."""
SOURCE = "metadata"
ROUNDS = 3
"""How often checkpoints that were replaced meanwhile are looked for again."""

_KEY = ("metadata_path", "metadata_bytes", "metadata_modified")
_HIT = pa.schema(
    [
        *(parsing.PARSED.field(name) for name in ("audit_id", "root", *_KEY)),
        ("commit_seq", pa.int64()),
        ("repeated", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class ParsedMetadata:
    """``engine``: ``Here`` or ``OnSpark``. ``fresh`` parses everything, whatever the lake has."""

    engine: Any
    lake: LakeReader
    fresh: bool = False

    def read(self, wanted: pa.Table) -> Any:
        """``PARSED`` rows of ``wanted`` files, and of successors of those that vanished meanwhile."""
        parts, looked_for = [], wanted
        for _ in range(ROUNDS + 1):
            rows, parsed = self._read(looked_for)
            parts += rows
            looked_for = find_replacements(self.engine, _failures(parsed), wanted)
            if not looked_for.num_rows:
                break
            wanted = pa.concat_tables([wanted, looked_for])
        return self.engine.all(parts, PARSED)

    def _read(self, wanted: pa.Table) -> tuple[list[Any], ds.Dataset | None]:
        if self.fresh:
            hits, tables = _HIT.empty_table(), []
        else:
            since = datetime.now(UTC) - KEPT_FOR
            columns = [
                *(name for name in PARSED.names if name in REFERENCES.schema.names),
                "handles",
                "commit_seq",
            ]
            kept = self.engine.lake_rows(
                self.lake, TABLE, since, {"reader_version": READER_VERSION}, columns
            )
            counted = self.engine.counted(kept, [*_KEY, "commit_seq"], "handles").to_pylist()
            hits = pa.Table.from_pylist(list(_hits(wanted.to_pylist(), counted)), _HIT)
            tables = (
                [self.engine.joined(kept, hits, [*_KEY, "commit_seq"])] if hits.num_rows else []
            )
        known = {(row["audit_id"], row["metadata_path"]) for row in hits.to_pylist()}
        missing = [(row["audit_id"], row["path"]) not in known for row in wanted.to_pylist()]
        parsed, dataset = self.engine.made(
            parsing.parsed, wanted.filter(pa.array(missing, pa.bool_())), parsing.PARSED
        )
        if dataset is not None:
            self._keep(dataset)
        return [*tables, parsed], dataset

    def _keep(self, rows: ds.Dataset) -> None:
        """As a stream: the rows of one audit may exceed memory."""
        if not rows.count_rows(filter=ds.field("failure").is_null()):
            return
        self._keep_snapshots(rows)
        for attempt in commit_attempts():
            with attempt, staged_commit(self.lake, READ_BY_SPARK[TABLE].name) as (delta, version):
                batches = _stamp(rows, version, datetime.now(UTC))
                write_deltalake(
                    delta,
                    pa.RecordBatchReader.from_batches(REFERENCES.schema, batches),
                    mode="append",
                    writer_properties=WriterProperties(compression="ZSTD"),
                    commit_properties=CommitProperties(max_commit_retries=0),
                )

    def _keep_snapshots(self, rows: ds.Dataset) -> None:
        read = rows.scanner(
            columns=["audit_id", *READ], filter=ds.field("failure").is_null()
        ).to_batches()
        # Two audits of one run may have read the same file.
        paths = dict.fromkeys(snapshots(read, ("audit_id",)))
        append(self.lake, [Observed("", datetime.now(UTC), SOURCE, tuple(paths))])


def _hits(wanted: Iterable[Row], counted: Iterable[Row]) -> Iterator[Row]:
    """Rows of the lake for wanted files. Two audits may have parsed a file: the last complete
    commit counts.
    """
    whole = by(
        (row for row in counted if row["handles"] is not None and row["rows"] > row["handles"]),
        *_KEY,
    )
    last: dict[Key, Row] = {
        key: max(rows, key=lambda row: int(row["commit_seq"])) for key, rows in whole.items()
    }
    for row in wanted:
        key = row["path"], row["bytes"], row["modified"]
        if (newest := last.get(key)) is not None:
            yield dict(zip(_KEY, key, strict=True)) | {
                "audit_id": row["audit_id"],
                "root": row["root"],
                "commit_seq": newest["commit_seq"],
                "repeated": newest["rows"] > newest["handles"] + 1,
            }


def _failures(parsed: ds.Dataset | None) -> pa.Table:
    if parsed is None:
        return FAILED.empty_table()
    return parsed.to_table(columns=FAILED.names, filter=pc.is_valid(ds.field("failure")))


def find_replacements(engine: Any, failed: pa.Table, wanted: pa.Table) -> pa.Table:
    """Successors of vanished files; each job's directory is listed once."""
    gone = reading.left_behind(failed.to_pylist(), wanted)
    if not gone.num_rows:
        return gone
    successors, _ = engine.made(parsing.successors, gone, parsing.WANTED)
    return reading.new_ones(engine.collected(successors), wanted)


def _stamp(rows: ds.Dataset, version: int, at: datetime) -> Iterator[pa.RecordBatch]:
    schema = REFERENCES.schema
    stamps: dict[str, str | int | datetime | date] = {
        "cluster": "",
        "observed_at": at,
        "source": SOURCE,
        "commit_seq": version,
        "date": at.date(),
    }
    for batch in rows.scanner(filter=ds.field("failure").is_null()).to_batches():
        columns = [
            pa.repeat(pa.scalar(stamps[field.name], field.type), batch.num_rows)
            if field.name in stamps
            else batch.column(field.name).cast(field.type)
            for field in schema
        ]
        yield pa.record_batch(columns, schema=schema)
