"""Worlds as the rows of one run: each an audit of its own.

``_metadata`` are given as they come out of the reader, or written to disk and read.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_jobs.audit_locally import LocalEngine
from spark_jobs.parsed_metadata import find_replacements
from spark_jobs.storage import parsing, reading
from spark_jobs.storage.audit import Inputs
from spark_jobs.storage.parsing import WANTED
from spark_jobs.storage.path_facts import LISTING
from spark_jobs.storage.plain import plain_rows
from spark_jobs.storage.previous_audit import KNOWN_FILES, LISTED, REFERRED
from spark_jobs.storage.reading import JOBS
from spark_jobs.storage.snapshots import PARSED
from tests.spark_jobs.storage.worlds import GUARD, NOW, Snapshot, World, is_within
from tests.spark_jobs.storage.written import write


def inputs_of(worlds: Sequence[World], folder: Path, *, written: Sequence[World] = ()) -> Inputs:
    """Of worlds and of those whose ``_metadata`` are ``written`` below ``folder``, to be read."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in (
            "root",
            "file",
            "known_file",
            "job",
            "parsed",
            "doubt",
            "referred",
            "listed",
            "statement",
        )
    }
    for world in worlds:
        _pack(world, rows)
    for world in written:
        _pack(world, rows | {"parsed": []})
    parsed = [
        pa.Table.from_pylist(rows["parsed"], PARSED),
        *(_parsed(written, folder) if written else ()),
    ]
    return Inputs(
        roots=plain_rows(pa.Table.from_pylist(rows["root"], _ROOT)),
        jobs=reading.job_rows(pa.Table.from_pylist(rows["job"], JOBS), {}),
        doubts=rows["doubt"],
        listing=pa.Table.from_pylist(rows["file"], LISTING),
        parsed=LocalEngine().concat(parsed, PARSED),
        known_files=pa.Table.from_pylist(rows["known_file"], KNOWN_FILES),
        earlier=pa.Table.from_pylist(rows["referred"], REFERRED),
        spellings_of={},
        state={
            "storage_listed": plain_rows(pa.Table.from_pylist(rows["listed"], LISTED)),
            "storage_lost": [
                {"job_directory": directory}
                for world in (*worlds, *written)
                for directory in world.lost
            ],
        },
        statements=plain_rows(pa.Table.from_pylist(rows["statement"], _STATEMENT)),
    )


_TIME = pa.timestamp("us", "UTC")
_STATEMENT = pa.schema(
    [
        *(
            (name, pa.string())
            for name in ("audit_id", "kind", "subject", "cluster", "job_id", "head_sha256")
        ),
        ("bytes", pa.int64()),
        *((name, _TIME) for name in ("stated_at", "modified")),
    ]
)
_ROOT = pa.schema(
    [
        ("audit_id", pa.string()),
        ("root", pa.string()),
        ("as_of", pa.timestamp("us", "UTC")),
        ("age_guard_h", pa.float64()),
        ("clusters", pa.list_(pa.string())),
        ("unreachable", pa.bool_()),
        ("any_unreachable", pa.bool_()),
        ("attested", pa.bool_()),
        ("unlisted", pa.int64()),
        ("links", pa.list_(pa.string())),
        ("known_authorities", pa.list_(pa.string())),
    ]
)


def _pack(world: World, rows: dict[str, list[dict[str, Any]]]) -> None:
    audit = {"audit_id": str(world.seed), "root": world.root}
    authorities = sorted(
        {"file:" if root.startswith("file:") else root.rpartition("/")[0] for root in world.roots}
    )
    # They lead to what is listed by its own name, so that nothing else may follow from them.
    has_links = world.seed % 3 == 0
    for root in world.roots:
        link = {"subject": f"{root}/latest", "other": f"{root}/events", "reason": "link"}
        rows["doubt"] += [audit | link | {"root": root, "detail": ""}] * has_links
        rows["root"].append(
            audit
            | {
                "root": root,
                "as_of": NOW,
                "age_guard_h": GUARD.total_seconds() / 3600,
                "clusters": _clusters(world, root),
                "unreachable": False,
                "any_unreachable": False,
                "attested": True,
                "links": [f"{root}/latest"] if has_links else [],
                "unlisted": has_links
                + (1 if world.unlisted and is_within(world.unlisted, root) else 0),
                "known_authorities": authorities,
            }
        )
    if world.unlisted:
        rows["doubt"].append(
            audit
            | {
                "root": world.root_of(world.unlisted),
                "subject": world.unlisted,
                "reason": "unlisted",
                "detail": "Permission denied",
            }
        )
    for file in world.files.values():
        of = audit | {"root": world.root_of(file.path), "path": file.path}
        if file.listed:
            # Of some files a listing may not say how often they are stored.
            copies = len(file.path) % 3 or None
            rows["file"].append(
                of
                | {
                    "listed_path": file.path,
                    "bytes": file.size,
                    "modified": file.modified,
                    "replication": copies,
                }
            )
        if file.first_seen:
            rows["known_file"].append(
                of
                | {
                    "first_seen_at": file.first_seen,
                    "unreferenced_since": file.unreferenced_since,
                    "last_referred_at": file.last_referred,
                }
            )
    if world.listed_at:
        rows["listed"] += [{"root": root, "as_of": world.listed_at} for root in world.roots]
    # When they were written is known of those that were listed.
    rows["known_file"] += [
        audit | {"root": world.root, "path": path, "modified": NOW, "first_seen_at": NOW - GUARD}
        for path in sorted(
            {gone for gone, _, _ in world.earlier if is_within(gone, world.root)}
            - world.never_listed
        )
    ]
    rows["known_file"] += [
        audit | {"root": world.root_of(path), "path": path, "first_seen_at": at}
        for path, at in world.seen_again.items()
    ]
    for job in world.jobs:
        if job.known:
            written = {
                one.number: one.modified
                for one in world.snapshots
                if one.path.startswith(f"{job.directory}/")
            }
            ended = [
                {
                    "checkpoint_id": number, "completed": completed, "discarded": gone,
                    "triggered_at": written.get(number, NOW), "ended_at": written.get(number, NOW),
                }
                for number, completed, gone in job.ended
            ]  # fmt: skip
            known = job.restored and job.restored_path_reported
            restored = (
                job.restored.path.removesuffix("/_metadata") if job.restored and known else None
            )
            rows["job"].append(
                audit
                | {
                    "cluster": job.cluster,
                    "job_id": job.job_id,
                    "terminal": job.terminal,
                    "seen": job.seen,
                    "restored_path": restored,
                    "restored_at": job.restored_at,
                    "last_completed_at": job.last_completed,
                    "last_completed_id": job.last_completed_id,
                    "last_completed_path": job.last_path,
                    "in_flight_since": job.in_flight_since,
                    "started_at": job.started,
                    "redeployed_at": job.redeployed,
                    "ended_at": job.ended_at,
                    "checkpoints_ended": ended,
                }
            )
    for snapshot in world.snapshots:
        if not (snapshot.listed or snapshot.found_later):
            continue
        of = audit | {
            "root": world.root_of(snapshot.path),
            "metadata_path": snapshot.path,
            "metadata_modified": snapshot.modified,
            "metadata_bytes": 99,
            "checkpoint_id": snapshot.number,
        }
        written = list(snapshot.written.values())
        if snapshot.failure:
            named = _named_jobs(snapshot, written)
            # What came out of it before the damage does not count.
            rows["parsed"] += [
                of | {"ordinal": 1, "path": path, "written_path": path} for path in written[:1]
            ]
            failed = {"failure": snapshot.failure, "failure_detail": "at byte 9"}
            rows["parsed"].append(of | failed | {"named_jobs": named, "head_sha256": "0" * 64})
            continue
        rows["parsed"] += [
            of | {"ordinal": place, "path": path, "written_path": path, "size_bytes": 5}
            for place, path in enumerate(written, start=1)
        ]
        rows["parsed"].append(of | {"ordinal": 0})
    rows["statement"] += _statements(world)
    rows["referred"] += [
        {"audit_id": str(world.seed), "metadata_path": gone, "path": path}
        for gone, path, _ in world.earlier
    ]


def _named_jobs(snapshot: Snapshot, written: list[str]) -> list[str] | None:
    """As the bytes tell them; of some files nobody can read these."""
    if snapshot.failure in ("unreadable_file", "vanished_metadata") or snapshot.number % 3 == 0:
        return None
    return sorted({job for path in written for job in re.findall("/([0-9a-f]{32})(?=/)", path)})


def _statements(world: World) -> list[dict[str, Any]]:
    audit = {"audit_id": str(world.seed)}
    stated = [
        {"kind": "dead_job", "stated_at": job.attested_at, "job_id": job.job_id}
        | {
            "cluster": "" if job.attested_as == "directory" else job.cluster,
            "subject": "" if job.attested_as == "job" else job.directory,
        }
        for job in world.jobs
        if job.attested_at
    ]
    if world.excluded:
        stated.append({"kind": "excluded", "stated_at": NOW, "subject": world.excluded})
    stated += [
        {"kind": "foreign_file", "stated_at": NOW, "subject": path, "modified": modified}
        | {"bytes": 99, "head_sha256": "0" * 64}
        for path, modified in world.acknowledged.items()
    ]
    return [audit | statement for statement in stated]


def _clusters(world: World, root: str) -> list[str]:
    """As operators register a root: for any cluster, for all, or for those alone that write
    there.
    """
    if world.seed % 3 == 2:
        return sorted({job.cluster for job in world.jobs if is_within(job.directory, root)}) or [
            "c1"
        ]
    return ["c1", "c2"] if world.seed % 3 else []


def _parsed(worlds: Sequence[World], folder: Path) -> list[pa.Table]:
    """What vanished is looked for anew, as the audit does."""
    wanted = pa.Table.from_pylist([row for world in worlds for row in write(world, folder)], WANTED)
    first, _ = LocalEngine().derive(parsing.parsed, wanted, parsing.PARSED)
    later, _ = LocalEngine().derive(
        parsing.parsed, find_replacements(LocalEngine(), first, wanted), parsing.PARSED
    )
    return [first, later]
