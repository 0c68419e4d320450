"""Rows of _metadata files: from the lake, else parsed and stored in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from ingest.batches import filled
from ingest.lake.derived import READ_BY_SPARK
from ingest.lake.derived_commits import append, commit, write_rows
from ingest.lake.reader import LakeReader
from ingest.lake.tables import REFERENCES
from ingest.metadata.reader import READER_VERSION
from ingest.metadata.snapshots import READ, snapshots
from ingest.records import Observed
from spark_jobs.arrow_schemas import fields_of, schema
from spark_jobs.storage import parsing, reading
from spark_jobs.storage.plain import Key, Row, Rows, by
from spark_jobs.storage.snapshots import FAILED, PARSED

TABLE = REFERENCES.name
KEPT_FOR = timedelta(days=30)
"""Older rows are not used: parsing a file again costs less than reading a year of rows."""
SOURCE = "metadata"
ROUNDS = 3
"""How often ``read`` looks for successors of checkpoints that vanished meanwhile."""

_KEY = ("metadata_path", "metadata_bytes", "metadata_modified")
_HIT = schema(
    *fields_of(parsing.PARSED, "audit_id", "root", *_KEY), commit_seq="int", repeated="flag"
)


@dataclass(frozen=True)
class ParsedMetadata:
    """``engine``: ``LocalEngine`` or ``SparkEngine``. ``fresh``: ignore rows in the lake."""

    engine: Any
    lake: LakeReader
    fresh: bool = False

    def read(self, files: pa.Table) -> Any:
        parts, unread = [], files
        for _ in range(ROUNDS + 1):
            rows, parsed = self._read(unread)
            parts += rows
            unread = find_replacements(self.engine, _failures(parsed), files)
            if not unread.num_rows:
                break
            files = pa.concat_tables([files, unread])
        return self.engine.concat(parts, PARSED)

    def _read(self, files: pa.Table) -> tuple[list[Any], ds.Dataset | None]:
        if self.fresh:
            hits, tables = _HIT.empty_table(), []
        else:
            since = datetime.now(UTC) - KEPT_FOR
            columns = [
                *(name for name in PARSED.names if name in REFERENCES.schema.names),
                "handles",
                "commit_seq",
            ]
            stored = self.engine.lake_rows(
                self.lake, TABLE, since, {"reader_version": READER_VERSION}, columns
            )
            key = [*_KEY, "commit_seq"]
            commits = self.engine.count_by(stored, key, "handles").to_pylist()
            hits = pa.Table.from_pylist(list(_hits(files.to_pylist(), commits)), _HIT)
            tables = [self.engine.join(stored, hits, key)] if hits.num_rows else []
        in_lake = {(row["audit_id"], row["metadata_path"]) for row in hits.to_pylist()}
        is_missing = [(row["audit_id"], row["path"]) not in in_lake for row in files.to_pylist()]
        parsed, dataset = self.engine.derive(
            parsing.parsed, files.filter(pa.array(is_missing, pa.bool_())), parsing.PARSED
        )
        if dataset is not None:
            self._keep(dataset)
        return [*tables, parsed], dataset

    def _keep(self, rows: ds.Dataset) -> None:
        """Store as a stream: the rows may exceed memory."""
        if not rows.count_rows(filter=ds.field("failure").is_null()):
            return
        self._keep_snapshots(rows)

        def write(delta: DeltaTable, version: int) -> None:
            batches = _stamp(rows, version, datetime.now(UTC))
            write_rows(delta, pa.RecordBatchReader.from_batches(REFERENCES.schema, batches))

        commit(self.lake, READ_BY_SPARK[TABLE].name, write)

    def _keep_snapshots(self, rows: ds.Dataset) -> None:
        batches = rows.scanner(
            columns=["audit_id", *READ], filter=ds.field("failure").is_null()
        ).to_batches()
        # Two audits of one run may have read the same file.
        records = dict.fromkeys(snapshots(batches, ("audit_id",)))
        append(self.lake, [Observed("", datetime.now(UTC), SOURCE, tuple(records))])


def _hits(files: Rows, commits: Rows) -> Iterator[Row]:
    """``_HIT`` for each file in the lake, by its last complete commit. ``commits``: rows and
    ``handles`` by file and commit.
    """
    complete = by(
        (row for row in commits if row["handles"] is not None and row["rows"] > row["handles"]),
        *_KEY,
    )
    newest_commits: dict[Key, Row] = {
        key: max(rows, key=lambda row: int(row["commit_seq"])) for key, rows in complete.items()
    }
    for row in files:
        key = row["path"], row["bytes"], row["modified"]
        if (newest := newest_commits.get(key)) is not None:
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


def find_replacements(engine: Any, failed: pa.Table, files: pa.Table) -> pa.Table:
    """Successors of vanished files. Each job's directory is listed once."""
    vanished = reading.first_vanished(failed.to_pylist(), files)
    if not vanished.num_rows:
        return vanished
    successors, _ = engine.derive(parsing.successors, vanished, parsing.WANTED)
    return reading.without_known(engine.collect(successors), files)


def _stamp(rows: ds.Dataset, version: int, at: datetime) -> Iterator[pa.RecordBatch]:
    stamps = {
        "cluster": "",
        "observed_at": at,
        "source": SOURCE,
        "commit_seq": version,
        "date": at.date(),
    }
    for batch in rows.scanner(filter=ds.field("failure").is_null()).to_batches():
        yield filled(batch, REFERENCES.schema, stamps)
