"""``_metadata`` as rows, from the lake where they were parsed before, else parsed now and kept there."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import fsspec
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, WriterProperties, write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.lake.commit_attempts import commit_attempts
from ingest.lake.derived import READ_BY_SPARK
from ingest.lake.derived_commits import append, staged_commit
from ingest.lake.reader import LakeReader
from ingest.lake.tables import REFERENCES
from ingest.metadata.reader import READER_VERSION
from ingest.metadata.snapshots import READ, snapshots
from ingest.records import Observed
from spark_jobs.lake import pin
from spark_jobs.paths import hadoop_path, without_globs
from spark_jobs.storage import reading
from spark_jobs.storage.audit import Keep

TABLE = REFERENCES.name
KEPT_FOR = timedelta(days=30)
"""Older rows are not looked at: to parse a file again costs less than to read a year of them."""
SOURCE = "metadata"
MOST_BROADCAST = 50_000
"""Checkpoints, not files: some ten megabytes of names spare the rows of all their references a shuffle."""

_KEY = ["metadata_path", "metadata_bytes", "metadata_modified"]


@dataclass
class ParsedMetadata:
    """``work`` is a directory of this run for what is parsed; ``fresh`` parses everything whatever the lake keeps."""

    session: SparkSession
    lake: LakeReader
    work: str
    keep: Keep
    fresh: bool = False
    _parts: int = field(default=0, init=False)

    def read(self, wanted: DataFrame, tasks: int) -> DataFrame:
        """``reading.PARSED`` rows of ``wanted`` files."""
        if self.fresh:
            return self._parse(wanted, tasks)
        kept = self._kept()
        # Two audits may have parsed a file, each in a commit of its own, or two of one run in the same.
        counted = kept.groupBy(*_KEY, "commit_seq").agg(F.count("*").alias("rows"), F.max("handles").alias("handles"))
        whole = counted.where(F.col("rows") > F.col("handles"))
        last = whole.groupBy(*_KEY).agg(F.max_by(F.struct("commit_seq", "rows", "handles"), "commit_seq").alias("last"))
        key = wanted.select(
            "audit_id", "root", *(F.col(mine).alias(its) for mine, its in zip(("path", "bytes", "modified"), _KEY, strict=True))
        )
        hits = self.keep("hits", key.join(last.select(*_KEY, "last.*"), _KEY))
        missing = wanted.join(hits.select("audit_id", F.col("metadata_path").alias("path")), ["audit_id", "path"], "left_anti")
        once, more = hits.where(F.col("rows") == F.col("handles") + 1), hits.where(F.col("rows") > F.col("handles") + 1)
        cached = self._rows_of(kept, once)
        if not more.isEmpty():
            cached = cached.unionByName(self._rows_of(kept, more).dropDuplicates(["audit_id", "metadata_path", "ordinal"]))
        return cached.unionByName(self._parse(missing, tasks))

    def _rows_of(self, kept: DataFrame, hits: DataFrame) -> DataFrame:
        of = hits.drop("rows", "handles").hint("broadcast" if hits.count() <= MOST_BROADCAST else "shuffle_hash")
        nothing = F.lit(None).cast("string")
        rows = kept.join(of, [*_KEY, "commit_seq"]).withColumns({"failure": nothing, "failure_detail": nothing})
        return rows.select(*reading.PARSED.fieldNames())

    def _kept(self) -> DataFrame:
        now = datetime.now(UTC)
        pinned = pin(self.session, self.lake)
        rows = pinned.rows_in(TABLE, [(now - KEPT_FOR, now + timedelta(days=1))]).where(F.col("reader_version") == READER_VERSION)
        return rows.select(*(column.name for column in REFERENCES.columns), "commit_seq")

    def _parse(self, wanted: DataFrame, tasks: int) -> DataFrame:
        at = f"{self.work}/parsed-{self._parts}"
        self._parts += 1
        reading.parsed(wanted, tasks).write.parquet(hadoop_path(at))
        self._keep(at)
        return self.session.read.schema(reading.PARSED).parquet(without_globs(hadoop_path(at)))

    def _keep(self, at: str) -> None:
        """Append to the lake, streamed: what one audit parses may be more than memory holds."""
        filesystem, path = fsspec.core.url_to_fs(at)
        files = [str(name) for name in filesystem.ls(path, detail=False) if str(name).endswith(".parquet")]
        rows = ds.dataset(files, filesystem=filesystem, format="parquet") if files else None
        if rows is None or not rows.count_rows(filter=ds.field("failure").is_null()):
            return
        self._keep_snapshots(rows)
        for attempt in commit_attempts():
            with attempt, staged_commit(self.lake, READ_BY_SPARK[TABLE].name) as (delta, version):
                batches = _stamped(rows, version, datetime.now(UTC))
                write_deltalake(
                    delta,
                    pa.RecordBatchReader.from_batches(REFERENCES.schema, batches),
                    mode="append",
                    writer_properties=WriterProperties(compression="ZSTD"),
                    commit_properties=CommitProperties(max_commit_retries=0),
                )

    def _keep_snapshots(self, rows: ds.Dataset) -> None:
        """Before the handles, which say that the file need not be read again."""
        read = rows.scanner(columns=["audit_id", *READ], filter=ds.field("failure").is_null()).to_batches()
        # Two audits of one run may have read the same file.
        found = dict.fromkeys(snapshots(read, ("audit_id",)))
        append(self.lake, [Observed("", datetime.now(UTC), SOURCE, tuple(found))])


def _stamped(rows: ds.Dataset, version: int, at: datetime) -> Iterator[pa.RecordBatch]:
    """Lake rows: whose cluster a checkpoint is nobody knows where it is read."""
    schema = REFERENCES.schema
    stamps: dict[str, str | int | datetime | date] = {
        "cluster": "", "observed_at": at, "source": SOURCE, "commit_seq": version, "date": at.date(),
    }  # fmt: skip
    for batch in rows.scanner(filter=ds.field("failure").is_null()).to_batches():
        columns = [
            pa.repeat(pa.scalar(stamps[field.name], field.type), batch.num_rows)
            if field.name in stamps
            else batch.column(field.name).cast(field.type)
            for field in schema
        ]
        yield pa.record_batch(columns, schema=schema)
