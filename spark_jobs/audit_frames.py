"""Frames that an audit starts from: what the request names, as Spark reads it."""

import posixpath
import re
from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

import fsspec
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ingest.errors import Refused
from ingest.network.uris import spelled_as
from ingest.storage.identities import SECOND_NAME
from ingest.storage.snapshots import LISTED, SCHEMA, Snapshot
from ingest.uris import Spellings, canonical
from spark_jobs.audit_request import JOB_SCHEMA, Audit, AuditedRoot, UnlistedDirectory
from spark_jobs.paths import absolute_root, hadoop_path, without_globs
from spark_jobs.schemas import spark_schema
from spark_jobs.storage.doubts import AUTHORITY
from spark_jobs.storage.inputs import DOUBTS, JOBS, LISTING, ROOTS
from spark_jobs.storage_words import TWO_NAMES

_LISTED = spark_schema(SCHEMA)


def roots_frame(session: SparkSession, audits: Sequence[Audit]) -> DataFrame:
    return session.createDataFrame([_root_row(audit, root) for audit in audits for root in audit.roots], ROOTS)


def _root_row(audit: Audit, root: AuditedRoot) -> tuple[Any, ...]:
    known = [*(other.uri for other in audit.roots), *(canonical(to) for _, to in audit.spellings.aliases)]
    authorities = sorted({match[0] for uri in known if (match := re.match(AUTHORITY, uri))})
    return (
        audit.audit_id, root.uri, audit.as_of, audit.age_guard_h, list(root.clusters),
        bool(root.blind), bool(root.blind or root.blind_elsewhere), root.attested,
        sum(_doubt_of(one) == "unlisted" for one in root.unlisted), authorities,
    )  # fmt: skip


def listing_frame(session: SparkSession, audits: Sequence[Audit]) -> DataFrame:
    """Raises ``Refused`` for a listing that is not complete."""
    frames = [_listing(session, root).withColumn("audit_id", F.lit(audit.audit_id)) for audit in audits for root in audit.roots]
    return reduce(lambda one, other: one.unionByName(other), frames).select(*LISTING.names)


def _listing(session: SparkSession, root: AuditedRoot) -> DataFrame:
    files = listing_files(root.listing)
    if not files:
        return session.createDataFrame([], _LISTED)
    return session.read.schema(_LISTED).parquet(*(without_globs(hadoop_path(file)) for file in files)).where(F.col("root") == root.uri)


def listing_files(listing: str) -> list[str]:
    """Raises ``Refused`` where it is not complete."""
    filesystem, path = fsspec.core.url_to_fs(absolute_root(listing))
    if any(character in path for character in "*?["):
        return sorted(spelled_as(absolute_root(listing), filesystem, name) for name in filesystem.glob(path))
    if not filesystem.isdir(path):
        raise Refused(f"There is no listing at {listing}; make one with `python -m ingest listing`.")
    if Snapshot(listing).listed() is None:
        raise Refused(f"The listing at {listing} is not complete ({LISTED} is missing); finish it first.")
    names = [str(name) for name in filesystem.ls(path, detail=False)]
    return sorted(spelled_as(absolute_root(listing), filesystem, name) for name in names if posixpath.basename(name).startswith("part-"))


def jobs_frame(session: SparkSession, audits: Sequence[Audit]) -> DataFrame:
    """Columns that a file lacks are null; one with ``audit_id`` is shared by the audits."""
    frames = []
    for audit in audits:
        frame = _jobs(session, audit.jobs)
        named = "audit_id" in frame.columns
        frames.append(frame.where(F.col("audit_id") == audit.audit_id) if named else frame.withColumn("audit_id", F.lit(audit.audit_id)))
    return reduce(lambda one, other: one.unionByName(other), frames).select(*JOBS.names)


def _jobs(session: SparkSession, uri: str) -> DataFrame:
    filesystem, path = fsspec.core.url_to_fs(absolute_root(uri))
    try:
        with filesystem.open(path, "rb") as file:
            written = pq.read_schema(file)
    except FileNotFoundError as error:
        raise Refused(f"There is no file of jobs at {uri}.") from error
    frame = session.read.parquet(without_globs(hadoop_path(absolute_root(uri))))
    known = [F.col("audit_id")] if "audit_id" in written.names else []
    return frame.select(*known, *(_job_column(field.name, field.dataType, frame) for field in spark_schema(JOB_SCHEMA)))


def _job_column(name: str, kind: T.DataType, frame: DataFrame) -> Any:  # a column, classic or Connect
    if name not in frame.columns:
        return F.lit(None).cast(kind).alias(name)
    if not isinstance(kind, T.ArrayType):
        return F.col(name).cast(kind)
    # Members that a writer leaves out are null.
    written: Any = frame.schema[name].dataType
    given, members = set(written.elementType.fieldNames()), cast(T.StructType, kind.elementType)

    def member(end: Any, one: T.StructField) -> Any:
        return (end[one.name] if one.name in given else F.lit(None)).cast(one.dataType).alias(one.name)

    return F.transform(name, lambda end: F.struct(*(member(end, one) for one in members))).alias(name)


def unlisted_doubts(session: SparkSession, audits: Sequence[Audit]) -> DataFrame:
    rows = [
        (audit.audit_id, directory.subject, _doubt_of(directory), root.uri, directory.detail or directory.reason)
        for audit in audits
        for root in audit.roots
        for directory in root.unlisted
    ]
    return session.createDataFrame(rows, DOUBTS)


def _doubt_of(directory: UnlistedDirectory) -> str:
    return TWO_NAMES if directory.reason == SECOND_NAME else "unlisted"


def spellings_of(audits: Sequence[Audit]) -> dict[str, Spellings]:
    return {audit.audit_id: audit.spellings for audit in audits if audit.spellings.aliases}
