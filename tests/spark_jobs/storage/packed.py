"""Worlds as the frames of one Spark run: each an audit of its own.

``_metadata`` are given as they come out of the reader, or written to disk and read on executors.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.storage import reading
from spark_jobs.storage.inputs import DOUBTS, REFERRED, Inputs
from spark_jobs.storage.parsing import PARSED, WANTED
from tests.spark_jobs.storage.worlds import GUARD, NOW, World, is_within
from tests.spark_jobs.storage.written import write

_TIME = pa.timestamp("us", tz="UTC")
_TEXT = pa.string()
_ROOT = {
    "audit_id": _TEXT, "root": _TEXT, "as_of": _TIME, "age_guard_h": pa.float64(), "clusters": pa.list_(_TEXT),
    "blind": pa.bool_(), "any_blind": pa.bool_(),
    "attested": pa.bool_(), "unlisted": pa.int64(), "known_authorities": pa.list_(_TEXT),
}  # fmt: skip
_FILE = {
    "audit_id": _TEXT,
    "root": _TEXT,
    "path": _TEXT,
    "listed_path": _TEXT,
    "bytes": pa.int64(),
    "modified": _TIME,
    "replication": pa.int64(),
}
_KNOWN_FILE = {
    "audit_id": _TEXT, "root": _TEXT, "path": _TEXT, "first_seen_at": _TIME, "unreferenced_since": _TIME,
    "last_referred_at": _TIME, "last_referrer": _TEXT, "vanished_referrer": _TEXT,
}  # fmt: skip
_WHEN = (("triggered_at", _TIME), ("ended_at", _TIME), ("reason", _TEXT))
_ENDED = pa.struct([("checkpoint_id", pa.int64()), ("completed", pa.bool_()), ("discarded", pa.bool_()), *_WHEN])
_JOB = {
    "audit_id": _TEXT, "cluster": _TEXT, "job_id": _TEXT, "name": _TEXT, "state": _TEXT, "terminal": pa.bool_(), "seen": pa.bool_(),
    "started_at": _TIME, "restore_unread": pa.bool_(),
    "restored_path": _TEXT, "restored_is_savepoint": pa.bool_(), "restored_at": _TIME, "last_completed_at": _TIME,
    "last_completed_id": pa.int64(), "last_completed_path": _TEXT, "keeps_last": pa.bool_(), "in_flight_since": _TIME,
    "checkpoints_ended": pa.list_(_ENDED),
}  # fmt: skip


def inputs_of(spark: SparkSession, worlds: Sequence[World], folder: Path, *, written: Sequence[World] = ()) -> Inputs:
    """Frames of files below ``folder``, of worlds and of those whose ``_metadata`` are ``written`` as well, to be read by executors."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ("root", "file", "known_file", "job", "parsed", "doubt", "referred")}
    for world in worlds:
        _pack(world, rows)
    for world in written:
        _pack(world, rows | {"parsed": []})

    def frame(name: str, types: Mapping[str, pa.DataType]) -> DataFrame:
        return _frame(spark, folder / f"{name}.parquet", rows[name], types)

    parsed = frame("parsed", {field.name: field.type for field in PARSED})
    if written:
        parsed = parsed.unionByName(_parsed(spark, written, folder))
    read = reading.outcome(parsed, {})
    doubts = frame("doubt", dict.fromkeys(DOUBTS.names, _TEXT))
    return Inputs(
        roots=frame("root", _ROOT),
        listing=frame("file", _FILE),
        jobs=reading.with_canonical_paths(frame("job", _JOB), {}),
        references=read.references,
        operators=read.operators,
        doubts=read.doubts.unionByName(doubts),
        vanished=read.vanished,
        known_files=frame("known_file", _KNOWN_FILE),
        referred=frame("referred", dict.fromkeys(REFERRED.names, _TEXT)),
    )


def _pack(world: World, rows: dict[str, list[dict[str, Any]]]) -> None:
    audit = {"audit_id": str(world.seed), "root": world.root}
    authorities = sorted({"file:" if root.startswith("file:") else root.rpartition("/")[0] for root in world.roots})
    for root in world.roots:
        rows["root"].append(
            audit | {
                "root": root, "as_of": NOW, "age_guard_h": GUARD.total_seconds() / 3600, "clusters": _clusters(world, root),
                "blind": False, "any_blind": False, "attested": True,
                "unlisted": 1 if world.unlisted and is_within(world.unlisted, root) else 0,
                "known_authorities": authorities,
            }
        )  # fmt: skip
    if world.unlisted:
        rows["doubt"].append(
            audit | {"root": world.root_of(world.unlisted), "subject": world.unlisted, "reason": "unlisted", "detail": "Permission denied"}
        )
    for file in world.files.values():
        of = audit | {"root": world.root_of(file.path), "path": file.path}
        if file.listed:
            # Of some files a listing may not say how often they are stored.
            copies = len(file.path) % 3 or None
            rows["file"].append(of | {"listed_path": file.path, "bytes": file.size, "modified": file.modified, "replication": copies})
        if file.first_seen:
            rows["known_file"].append(of | {"first_seen_at": file.first_seen, "unreferenced_since": file.unreferenced_since})
    rows["known_file"] += [
        audit | {"root": world.root_of(path), "path": path, "first_seen_at": at} for path, at in world.seen_again.items()
    ]
    for job in world.jobs:
        if job.known:
            written = {one.number: one.modified for one in world.snapshots if one.path.startswith(f"{job.directory}/")}
            ended = [
                {
                    "checkpoint_id": number, "completed": completed, "discarded": gone,
                    "triggered_at": written.get(number, NOW), "ended_at": written.get(number, NOW),
                }
                for number, completed, gone in job.ended
            ]  # fmt: skip
            known = job.restored and job.restored_path_reported
            restored = job.restored.path.removesuffix("/_metadata") if job.restored and known else None
            rows["job"].append(
                audit | {
                    "cluster": job.cluster, "job_id": job.job_id, "terminal": job.terminal, "seen": job.seen, "restored_path": restored,
                    "restored_at": job.restored_at, "last_completed_at": job.last_completed, "last_completed_id": job.last_completed_id,
                    "last_completed_path": job.last_path, "in_flight_since": job.in_flight_since, "checkpoints_ended": ended,
                }
            )  # fmt: skip
    for snapshot in world.snapshots:
        if not (snapshot.listed or snapshot.found_later):
            continue
        of = audit | {
            "root": world.root_of(snapshot.path),
            "metadata_path": snapshot.path,
            "metadata_modified": snapshot.modified,
            "checkpoint_id": snapshot.number,
        }
        written = list(snapshot.written.values())
        if snapshot.failure:
            # What came out of it before the damage does not count.
            rows["parsed"] += [of | {"ordinal": 1, "path": path, "written_path": path} for path in written[:1]]
            rows["parsed"].append(of | {"failure": snapshot.failure, "failure_detail": "at byte 9"})
            continue
        rows["parsed"] += [
            of | {"ordinal": place, "path": path, "written_path": path, "size_bytes": 5} for place, path in enumerate(written, start=1)
        ]
        rows["parsed"].append(of | {"ordinal": 0, "metadata_bytes": 99})
    rows["referred"] += [{"audit_id": str(world.seed), "metadata_path": gone, "path": path} for gone, path, _ in world.earlier]


def _clusters(world: World, root: str) -> list[str]:
    """As operators register a root: for any cluster, for all, or for those alone that write there."""
    if world.seed % 3 == 2:
        return sorted({job.cluster for job in world.jobs if is_within(job.directory, root)}) or ["c1"]
    return ["c1", "c2"] if world.seed % 3 else []


def _parsed(spark: SparkSession, worlds: Sequence[World], folder: Path) -> DataFrame:
    """Read by executors, what vanished is looked for anew, as the audit does."""
    wanted_rows = [row for world in worlds for row in write(world, folder)]
    wanted = _frame(spark, folder / "wanted.parquet", wanted_rows, {field.name: field.type for field in WANTED})
    at = str(folder / "parsed")
    reading.parsed(wanted, 2).write.parquet(f"{at}-1")
    parsed = spark.read.schema(reading.PARSED).parquet(f"{at}-1")
    reading.parsed(reading.successors(parsed, wanted), 1).write.parquet(f"{at}-2")
    return parsed.unionByName(spark.read.schema(reading.PARSED).parquet(f"{at}-2"))


def _frame(spark: SparkSession, at: Path, rows: list[dict[str, Any]], types: Mapping[str, pa.DataType]) -> DataFrame:
    """By way of a file: the driver of the tests has no room for the rows of ten thousand worlds."""
    columns = {name: pa.array([row.get(name) for row in rows], type_) for name, type_ in types.items()}
    pq.write_table(pa.table(columns), at)
    return spark.read.parquet(str(at))
