"""Log files of any size → the lake table ``derived/log_records``. Spark's Python workers read the
raw text once and stage records, which get the version of their commit and are added to the Delta
table under its lock.
"""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import fsspec
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from ingest.flink_logs.files import LogFile, no_header
from ingest.flink_logs.layouts import Layout
from ingest.flink_logs.names import is_packed
from ingest.flink_logs.record_splitter import Keep
from ingest.lake.derived import READ_BY_SPARK
from ingest.lake.derived_commits import staged_commit
from ingest.lake.reader import LakeReader
from ingest.records import Skip
from ingest.redaction.texts import redact
from spark_jobs.frames import parquet_frame
from spark_jobs.paths import absolute_root, hadoop_path
from spark_jobs.schemas import lake_schema
from spark_jobs.transforms import log_records

TABLE = READ_BY_SPARK["log_records"].name

ARCHIVE_OPTIONS = {
    # Many small parts end together; with the usual 128 MiB, cores wait for the last one.
    "spark.sql.files.maxPartitionBytes": "32m"
}

UNREPEATED = ("message", "record_hash")
"""Unique values, for which a Parquet dictionary is useless."""
WRITE_OPTIONS = {
    "compression": "zstd",
    **{f"parquet.enable.dictionary#{name}": "false" for name in UNREPEATED},
}
COMMIT_ATTEMPTS = 5
UNPACKED_RATIO = 12
"""Size of a log to that of its archive; an estimate for the size of batches."""


@dataclass(frozen=True)
class LogArchives:
    """Loads one cluster's archives. Spark's executors must reach all paths."""

    session: SparkSession
    lake: LakeReader
    cluster: str
    layout: Layout
    time_zone: str
    keep: Keep
    observed_at: datetime
    skips: list[Skip] = field(default_factory=list)

    def load(self, files: Sequence[LogFile]) -> int:
        with _scratch(self.lake) as scratch:
            return self._load(files, scratch)

    def _load(self, files: Sequence[LogFile], scratch: str) -> int:
        folder = f"{scratch}/staged"
        parsed = log_records.by_block(self.session, files, self.layout, self.time_zone, self.keep)
        staged_files = [f"{folder}/{name}" for name in parsed.write(folder, UNREPEATED).files]
        if not staged_files:
            return 0
        rows = parquet_frame(self.session, staged_files, parsed.schema)
        file_rows = (
            rows.where("record_hash is null")
            .groupBy("file")
            .agg(F.sum("headers").alias("headers"), F.max("failure").alias("failure"))
            .collect()
        )
        self.skips.extend(
            Skip(redact(row.file), "unreadable_file", row.failure)
            for row in file_rows
            if row.failure
        )
        self.skips.extend(
            no_header(row.file) for row in file_rows if not row.headers and not row.failure
        )
        failed_files = [row.file for row in file_rows if row.failure]
        records = rows.where("record_hash is not null").where(~F.col("file").isin(failed_files))
        repeated = (
            records.groupBy("file", "record_hash")
            .count()
            .where("count > 1")
            .select("file")
            .distinct()
            .collect()
        )
        return self._commit(_with_ordinals(records, [row.file for row in repeated]), scratch)

    def _commit(self, rows: DataFrame, scratch: str) -> int:
        attempts = Retrying(
            retry=retry_if_exception_type(CommitFailedError),
            stop=stop_after_attempt(COMMIT_ATTEMPTS),
            reraise=True,
        )
        for attempt in attempts:
            with attempt, staged_commit(self.lake, TABLE) as (delta, version):
                out = f"{scratch}/rows-{version}"
                stamped = rows.withColumns(
                    {
                        "cluster": F.lit(self.cluster),
                        "observed_at": F.lit(self.observed_at),
                        "source": F.lit("log"),
                        "commit_seq": F.lit(version).cast("long"),
                        "date": F.to_date("ts"),
                    }
                )
                names = lake_schema(TABLE).names
                writer = stamped.select(*names).write.partitionBy("date").options(**WRITE_OPTIONS)
                writer.parquet(hadoop_path(out))
                return self._add(delta, out)
        raise AssertionError("unreachable: Retrying either returns or raises")

    def _add(self, delta: DeltaTable, out: str) -> int:
        filesystem, root = fsspec.core.url_to_fs(out)
        if not filesystem.glob(f"{root}/date=*/*.parquet"):
            return 0
        actions: list[AddAction | RemoveAction] = []
        total = 0
        table_root = fsspec.core.url_to_fs(f"{absolute_root(self.lake.root)}/{TABLE}")[1]
        for file in self._bounds(out):
            day, name = file.path.rsplit("/", 2)[1:]
            filesystem.makedirs(f"{table_root}/{day}", exist_ok=True)
            filesystem.mv(f"{root}/{day}/{name}", f"{table_root}/{day}/{name}")
            actions.append(_add_action(f"{day}/{name}", file))
            total += file.rows
        delta.create_write_transaction(
            actions,
            "append",
            delta.schema(),
            ["date"],
            commit_properties=CommitProperties(max_commit_retries=0),
        )
        return total

    def _bounds(self, out: str) -> list[Any]:
        rows = (
            self.session.read.option("basePath", hadoop_path(out))
            .schema(lake_schema(TABLE))
            .parquet(hadoop_path(out))
        )
        bounded = ("ts", "observed_at", "commit_seq", "cluster", "process")
        return (
            rows.groupBy(
                F.col("_metadata.file_path").alias("path"),
                F.col("_metadata.file_size").alias("bytes"),
                "date",
            )
            .agg(
                F.count("*").alias("rows"),
                *(
                    edge(name).alias(f"{label}_{name}")
                    for name in bounded
                    for label, edge in _EDGES
                ),
            )
            .collect()
        )


_EDGES = (("min", F.min), ("max", F.max))


def _with_ordinals(records: DataFrame, files: Sequence[str]) -> DataFrame:
    if not files:
        return records
    is_repeated = F.col("file").isin(files)
    with_ordinals = log_records.numbered(records.where(is_repeated))
    return records.where(~is_repeated).unionByName(with_ordinals)


def batches(files: Sequence[LogFile], batch_bytes: int) -> Iterator[list[LogFile]]:
    """Files in groups of about ``batch_bytes`` unpacked, at least one."""
    batch: list[LogFile] = []
    total = 0
    for file in files:
        size = file.size * (UNPACKED_RATIO if is_packed(file.path) else 1)
        if batch and total + size > batch_bytes:
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size
    if batch:
        yield batch


def _add_action(path: str, file: Any) -> AddAction:
    edges = {
        f"{label}Values": {
            "ts": _stamp(file[f"{label}_ts"]), "observed_at": _stamp(file[f"{label}_observed_at"]),
            **{name: file[f"{label}_{name}"] for name in ("commit_seq", "cluster", "process")},
        }
        for label, _ in _EDGES
    }  # fmt: skip
    stats = {"numRecords": file.rows, **edges, "nullCount": {}}
    now = int(datetime.now(UTC).timestamp() * 1000)
    return AddAction(
        path, file.bytes, {"date": file.date.isoformat()}, now, True, json.dumps(stats)
    )


def _stamp(instant: datetime) -> str:
    # Spark returns instants without a time zone, in that of the machine.
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


@contextmanager
def _scratch(lake: LakeReader) -> Iterator[str]:
    uri = f"{absolute_root(lake.root)}/derived/_staging/{uuid.uuid4().hex}"
    try:
        yield uri
    finally:
        with suppress(FileNotFoundError):
            filesystem, root = fsspec.core.url_to_fs(uri)
            filesystem.rm(root, recursive=True)
