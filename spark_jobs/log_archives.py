"""Log files of any size → the lake's ``derived/log_records``, read and written by Spark alone.

A batch of files goes in two steps. *Stage*: one pass over the raw text writes the records worth keeping. *Commit*:
they are stamped with the version that brings them, and their files join the Delta table in one commit. The step
under the table's lock thus touches only what is kept, not the raw text.
"""

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import fsspec
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from ingest.flink_logs.files import no_header
from ingest.flink_logs.layouts import Layout
from ingest.flink_logs.record_splitter import Keep
from ingest.lake.derived import READ_BY_SPARK
from ingest.lake.derived_commits import staged_commit
from ingest.lake.reader import LakeReader
from ingest.records import Skip
from spark_jobs.paths import absolute_root, hadoop_path, without_globs
from spark_jobs.schemas import lake_schema
from spark_jobs.transforms import log_records

TABLE = READ_BY_SPARK["log_records"].name

ARCHIVE_OPTIONS = {
    # Many small parts end together; with the usual 128 MiB, cores wait for the last one.
    "spark.sql.files.maxPartitionBytes": "32m",
}
"""For the session that reads archives."""

# No two records have the same text: looking for repetitions would only cost.
WRITTEN = {"compression": "zstd", **{f"parquet.enable.dictionary#{name}": "false" for name in ("message", "record_hash")}}
COMMIT_ATTEMPTS = 5


@dataclass(frozen=True)
class LogArchives:
    """Reads files into one lake for one cluster. Paths must be reachable by Spark's executors."""

    session: SparkSession
    lake: LakeReader
    cluster: str
    layout: Layout
    time_zone: str
    keep: Keep
    observed_at: datetime
    skips: list[Skip] = field(default_factory=list)

    def load(self, paths: Sequence[str]) -> int:
        """Rows committed for these files. A file that cannot be read is skipped and named; halving finds it where Spark is silent."""
        with _scratch(self.lake) as scratch:
            try:
                return self._load(paths, scratch)
            except (PySparkException, Py4JJavaError) as error:
                if not _is_of_a_file(error):
                    raise
                failure = error
        bad = _named_file(failure, paths)
        if bad:
            detail = f"Spark could not read it ({_first_line(failure)}); check that it is whole and readable."
            self.skips.append(Skip(bad, "unreadable_file", detail))
            rest = [path for path in paths if path != bad]
            return self.load(rest) if rest else 0
        middle = len(paths) // 2
        return self.load(paths[:middle]) + self.load(paths[middle:])

    def _load(self, paths: Sequence[str], scratch: str) -> int:
        staged = f"{scratch}/staged"
        log_records.by_block(self.text(paths), self.layout, self.time_zone, self.keep).write.options(**WRITTEN).parquet(hadoop_path(staged))
        rows = self.session.read.schema(log_records.READ_SCHEMA).parquet(hadoop_path(staged))
        counts = rows.where("record_hash is null").groupBy("file").agg(F.sum("headers").alias("headers"), F.max("stray").alias("stray"))
        files = counts.collect()
        self.skips.extend(no_header(file.file) for file in files if not file.headers)
        torn = [file.file for file in files if file.stray and file.headers]
        records = rows.where("record_hash is not null")
        repeated = records.groupBy("file", "record_hash").count().where("count > 1").select("file").distinct()
        return self._commit(self._rows(records, torn, [row.file for row in repeated.collect()]), scratch)

    def _rows(self, staged: DataFrame, torn: Sequence[str], repeated: Sequence[str]) -> DataFrame:
        """Rows of files that are as they should be, as they come; others are sorted or counted first."""
        rows = staged.where(~F.col("file").isin(*torn, *repeated))
        if repeated:
            rows = rows.unionByName(log_records.numbered(staged.where(F.col("file").isin(*repeated) & ~F.col("file").isin(*torn))))
        if torn:
            rows = rows.unionByName(log_records.in_order(self.text(torn), self.layout, self.time_zone, self.keep))
        return rows.where("record_hash is not null")

    def text(self, paths: Sequence[str]) -> DataFrame:
        reader = self.session.read.option("lineSep", log_records.line_separator(self.layout))
        text = reader.text([without_globs(hadoop_path(path)) for path in paths])
        return text.select("value", "_metadata.file_path", "_metadata.file_block_start").toDF("value", "file", "block")

    def _commit(self, rows: DataFrame, scratch: str) -> int:
        """Stamp, write and add; another writer's commit in between only means to stamp again."""
        attempts = Retrying(retry=retry_if_exception_type(CommitFailedError), stop=stop_after_attempt(COMMIT_ATTEMPTS), reraise=True)
        for attempt in attempts:
            with attempt, staged_commit(self.lake, TABLE) as (delta, version):
                out = f"{scratch}/rows-{version}"
                stamped = rows.withColumns(
                    {
                        "cluster": F.lit(self.cluster), "observed_at": F.lit(self.observed_at), "source": F.lit("log"),
                        "commit_seq": F.lit(version).cast("long"), "date": F.to_date("ts"),
                    }
                )  # fmt: skip
                names = lake_schema(TABLE).names
                stamped.select(*names).write.partitionBy("date").options(**WRITTEN).parquet(hadoop_path(out))
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
            actions, "append", delta.schema(), ["date"], commit_properties=CommitProperties(max_commit_retries=0)
        )
        return total

    def _bounds(self, out: str) -> list[Any]:
        """One row per written file with what the table's log records of it."""
        written = self.session.read.option("basePath", hadoop_path(out)).schema(lake_schema(TABLE)).parquet(hadoop_path(out))
        bounded = ("ts", "observed_at", "commit_seq", "cluster", "process")
        return (
            written.groupBy(F.col("_metadata.file_path").alias("path"), F.col("_metadata.file_size").alias("bytes"), "date")
            .agg(F.count("*").alias("rows"), *(edge(name).alias(f"{label}_{name}") for name in bounded for label, edge in _EDGES))
            .collect()
        )


_EDGES = (("min", F.min), ("max", F.max))


def batches(files: Sequence[tuple[str, int]], batch_bytes: int) -> Iterator[list[str]]:
    """Paths of files (path, size in bytes unpacked) in groups of about ``batch_bytes``; each has at least one."""
    batch: list[str] = []
    held = 0
    for path, size in files:
        if batch and held + size > batch_bytes:
            yield batch
            batch, held = [], 0
        batch.append(path)
        held += size
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
    return AddAction(path, file.bytes, {"date": file.date.isoformat()}, now, True, json.dumps(stats))


def _stamp(instant: datetime) -> str:
    # Spark hands out instants in the machine's own time zone, without saying so.
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class _scratch:
    """A folder beside the derived tables that is gone afterwards, whatever happens."""

    def __init__(self, lake: LakeReader) -> None:
        self._uri = f"{absolute_root(lake.root)}/derived/_staging/{uuid.uuid4().hex}"

    def __enter__(self) -> str:
        return self._uri

    def __exit__(self, *_: object) -> None:
        with suppress(FileNotFoundError):
            filesystem, root = fsspec.core.url_to_fs(self._uri)
            filesystem.rm(root, recursive=True)


_OF_A_FILE = (
    "FAILED_READ_FILE", "PATH_NOT_FOUND", "FileNotFoundException", "AccessControlException", "Permission denied", "EOFException",
    "ZipException", "ZlibException", "incorrect header check", "incorrect data check", "not a gzip", "invalid block type",
    "invalid stored block", "invalid distance", "invalid code", "bad block header", "crc error",
)  # fmt: skip
_OF_THE_CLUSTER = ("No space left", "No FileSystem for scheme", "ClassNotFoundException", "OutOfMemoryError")


def _is_of_a_file(error: BaseException) -> bool:
    """Whether an input is to blame. Classic Spark raises some of these through, Connect wraps them all."""
    text = str(error)
    return any(piece in text for piece in _OF_A_FILE) and not any(piece in text for piece in _OF_THE_CLUSTER)


def _named_file(error: BaseException, paths: Sequence[str]) -> str | None:
    """The input that Spark names in its error, or the only one there is."""
    if len(paths) == 1:
        return paths[0]
    named = re.search(r"while reading file ([^ \n]+?)\.? ", str(error))
    name = unquote(named[1]).rsplit("/", 1)[-1] if named else None
    found = [path for path in paths if path.rsplit("/", 1)[-1] == name]
    return found[0] if len(found) == 1 else None


def _first_line(error: BaseException) -> str:
    reported = str(error)
    cause = reported.rsplit("Caused by: ", 1)[-1] if "Caused by: " in reported else reported
    return (cause.strip().splitlines() or [type(error).__name__])[0][:300]
