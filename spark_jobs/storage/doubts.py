"""Doubts: what could hide a referrer. Each keeps the files that may be referred to, within its
reach. Meaning, reach and end of each are declared in :data:`spark_jobs.storage_words.DOUBTS`. If
two spellings may mean one file, only an operator can tell: an alias makes them one, an alias of a
prefix to itself says that they differ.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import reduce
from operator import or_

import pyarrow as pa

from ingest.flink_ids import is_given
from ingest.messages import message, message_document
from ingest.storage.layout import METADATA_NAME
from spark_jobs.storage.layout_columns import placed
from spark_jobs.storage.owners import (
    CLOCKS_APART_S,
    JOB,
    is_of_time,
    may_run,
    root_around,
)
from spark_jobs.storage.plain import (
    US_PER_S,
    Key,
    Row,
    as_json,
    by,
    is_less,
    key_of,
    keys,
    largest,
    smallest,
)
from spark_jobs.storage.reach import (
    EVERYTHING,
    Reach,
    Reaches,
    below,
    in_directory,
    of_jobs,
)
from spark_jobs.storage.statements import ACKNOWLEDGEABLE
from spark_jobs.storage_words import (
    DEAD_JOB,
    FOREIGN_FILE,
    NAMED_FILES,
    TWO_NAMES,
    VOID_ATTESTATION,
)

OF_METADATA = (
    "empty_metadata",
    "incomplete_metadata",
    "no_magic_number",
    "damaged_metadata",
    "unsupported_metadata",
    "unreadable_file",
    "vanished_metadata",
)
TWO_NAMES_ADVICE = (
    "If it is one directory, declare the one name an alias of the other (WEIR_STORAGE_ALIASES); if "
    "it is a copy, exclude the directory that nobody writes to."
)
MOST_PLACES = 1000
"""Of one doubt; one with more counts as reaching everything where only its row tells."""
_MADE_BY_FLINK = re.compile(
    r"(?:/(?:chk-[0-9]*|shared|taskowned|dstl|op_[^/]+)(?:/.*)?)?/_metadata"
)
_OF_CHECKPOINT = re.compile(r"/chk-[0-9]+/_metadata")
_HIDES_CHECKPOINT = re.compile(r"/(?:chk-[0-9]+|[0-9a-f]{32}|_metadata)$")


def of_listing(doubts: Iterable[Row], roots: Sequence[Row], reaches: Reaches) -> list[Row]:
    """Doubts of listings with their reach: an unlisted directory may contain a checkpoint, of the
    job whose directory it is in, or of any.
    """
    rows = list(doubts)
    places = _in_jobs([f"{row['subject']}/{METADATA_NAME}" for row in rows], _MADE_BY_FLINK)
    return [
        row
        | {
            "statements": _stated_dead(directory),
            "reach": _unlisted_reach(row, directory, job_id, roots, reaches),
        }
        for row, (directory, job_id) in zip(rows, places, strict=True)
    ]


def _in_jobs(
    paths: Sequence[str], of_flink: re.Pattern[str]
) -> list[tuple[str | None, str | None]]:
    """(job directory, job id), if Flink put these files there: in a directory that it does not
    make, somebody may keep what is of any job.
    """
    where = placed(pa.array(paths, pa.string()))
    return [
        (directory, job_id)
        if directory is not None and of_flink.fullmatch(path.removeprefix(directory))
        else (None, None)
        for path, directory, job_id in zip(
            paths, where.job_directory.to_pylist(), where.job_id.to_pylist(), strict=True
        )
    ]


def _unlisted_reach(
    row: Row, directory: str | None, job_id: str | None, roots: Sequence[Row], reaches: Reaches
) -> Reach:
    subject, other, audit_id = row["subject"], row.get("other") or "", row["audit_id"]
    if row["reason"] == TWO_NAMES:
        around = [root_around(audit_id, f"{place}/", roots) for place in (subject, other)]
        return _reach_of_both(around[0], around[1], subject, other) if other else EVERYTHING
    if row["reason"] == "bad_name":
        return EVERYTHING if subject.endswith(f"/{METADATA_NAME}") else below(subject)
    if (audit_id, directory) in reaches.dead:
        return in_directory(str(directory))
    if row["reason"] != "link":
        return reaches.of_job(audit_id, job_id, subject)
    if not other:
        return EVERYTHING
    leads_inside = root_around(audit_id, other, roots) is not None
    if leads_inside:
        # Its content is listed and read under its own name.
        return below(subject, other)
    if directory is not None or _HIDES_CHECKPOINT.search(subject):
        return reaches.of_job(audit_id, job_id, subject)
    return below(subject)


def listed_whole(doubts: Iterable[Row], roots: Sequence[Row]) -> list[bool]:
    """By root, whether all below it was listed; what a link to below an audited root leads to was,
    by its own name.
    """
    inside = Counter(
        key_of(row, ("audit_id", "root"))
        for row in doubts
        if row["reason"] == "link"
        and row.get("other")
        and root_around(row["audit_id"], row["other"], roots) is not None
    )
    return [root["unlisted"] == inside[key_of(root, ("audit_id", "root"))] for root in roots]


def of_metadata(doubts: Iterable[Row], reaches: Reaches, settled: Set[Key]) -> list[Row]:
    """Doubts about a ``_metadata`` with their reach, without ``settled`` (acknowledged) ones."""
    rows = [row for row in doubts if (row["audit_id"], row["subject"]) not in settled]
    places = _in_jobs([row["subject"] for row in rows], _OF_CHECKPOINT)
    return [
        row
        | {
            "statements": [*_stated_dead(directory), *_stated_foreign(row)],
            "reach": reaches.of_metadata(row, directory, job_id),
        }
        for row, (directory, job_id) in zip(rows, places, strict=True)
    ]


def _reach_of_both(root: str | None, other_root: str | None, *directories: str) -> Reach:
    """Two roots with the same content count as one: no listing compares them."""
    if root == other_root or root is None or other_root is None:
        return below(*directories)
    return below(root, other_root)


def void_attestations(statements: Iterable[Row]) -> Iterator[Row]:
    detail = message("It no longer counts: from this audit on, no verdict is based on it.")
    for row in statements:
        directory = row["subject"]
        reach = in_directory(directory) if directory else of_jobs([row["job_id"]])
        subject = directory or f"{row['cluster']}/{row['job_id']}"
        yield _doubt(row, subject, VOID_ATTESTATION, detail, reach)


def _stated_dead(directory: str | None) -> list[Row]:
    return [] if directory is None else [{"kind": DEAD_JOB, "subject": directory}]


def _stated_foreign(row: Row) -> list[Row]:
    if row["reason"] not in ACKNOWLEDGEABLE:
        return []
    modified, head = row["metadata_modified"], row["head_sha256"]
    if modified is None or head is None:
        return []
    named = {"kind": FOREIGN_FILE, "subject": row["subject"], "bytes": row["metadata_bytes"]}
    return [named | {"modified": modified, "head_sha256": head}]


def of_completed(
    doubts: Sequence[Row], owners: Iterable[Row], metadata: Iterable[Row]
) -> list[Row]:
    """Doubts without those about a ``_metadata`` whose checkpoint provably never completed: it
    never referred to anything. Numbers repeat where a job starts again under its id, so the file
    has to be of the time of that checkpoint.
    """
    failed = by(
        (
            end | {name: owner[name] for name in ("audit_id", "job_directory")}
            for owner in owners
            if owner["claims"] == 1 and owner["seen"]
            for end in owner["failed"]
        ),
        "audit_id",
        "job_directory",
        "checkpoint_id",
    )
    written = by(metadata, "audit_id", "path")
    where = placed(pa.array([doubt["subject"] for doubt in doubts], pa.string()))
    places = zip(
        *(array.to_pylist() for array in (where.place, where.job_directory, where.checkpoint_id)),
        strict=True,
    )

    def is_explained(doubt: Row, place: str, directory: str | None, number: int | None) -> bool:
        if doubt["reason"] not in OF_METADATA or place != "metadata":
            return False
        listed = written.get((doubt["audit_id"], doubt["subject"]), ())
        modified = largest(row["modified"] for row in listed)
        ends = failed.get((doubt["audit_id"], directory, number), ())
        return any(is_of_time(modified, end, CLOCKS_APART_S) for end in ends)

    return [doubt for doubt, of in zip(doubts, places, strict=True) if not is_explained(doubt, *of)]


def unknown_authorities(outside: Iterable[Row], roots: Iterable[Row]) -> Iterator[Row]:
    """A doubt for each file system that references name and no root is on. It reaches the jobs
    whose directories these references name.
    """
    known: dict[str, set[str]] = {}
    for root in roots:
        known.setdefault(root["audit_id"], set()).update(root["known_authorities"] or ())
    for row in outside:
        if row["authority"] not in known[row["audit_id"]]:
            detail = (
                f"{row['metadata_path']} refers to it; declare in the spellings which root it "
                "means, or that it is another."
            )
            reach = of_jobs([row["job_id"]]) if row["job_id"] else Reach(NAMED_FILES)
            yield _doubt(row, row["authority"], "unknown_authority", detail, reach)


def of_other_spellings(spellings: Iterable[Row]) -> Iterator[Row]:
    """One doubt per audit, about the first spelling; it reaches the directories of all."""
    for of in by(spellings, "audit_id").values():
        first = min(of, key=lambda row: str(row["path"]))
        detail = (
            f"It may be {first['path']}, as may others of {sum(row['files'] for row in of)} files; "
            "declare in the spellings what its directory means."
        )
        reach = of_jobs((), *(row["job_directory"] for row in of if row["job_directory"]))
        yield _doubt(first, first["referred_as"], "other_spelling", detail, reach)


def of_twins(pairs: Iterable[Row], copied: Set[Key]) -> Iterator[Row]:
    """A doubt for each directory and another one that holds the same files. ``copied``: pairs of
    which one is a copy that nobody writes to and no reference names; their files are told apart one
    by one.
    """
    for pair in pairs:
        of_pair = (pair["audit_id"], pair["job_directory"], pair["other_job_directory"])
        detail = (
            f"{pair['files']} files below it are also listed below {pair['other_directory']}, "
            f"such as {pair['path']}. {TWO_NAMES_ADVICE}"
        )
        reach = (
            Reach(NAMED_FILES)
            if of_pair in copied
            else _reach_of_both(pair["root"], pair["other_root"], *of_pair[1:])
        )
        yield _doubt(pair, pair["directory"], TWO_NAMES, detail, reach)


def same_metadata(snapshots: Iterable[Row], copied: Set[Key]) -> Iterator[Row]:
    """A doubt for each checkpoint whose ``_metadata`` has the same content as another one of that
    job and number. Jobs of fixed ids have checkpoints of the same number in many places; what those
    refer to differs.
    """
    for alike in _same(snapshots):
        first, last = (min(alike, key=_path), max(alike, key=_path))
        directories = [row["job_directory"] for row in alike if row["job_directory"]]
        for row in alike:
            other = last if row is first else first
            pair = (row["audit_id"], row["job_directory"], other["job_directory"])
            reach = (
                Reach(NAMED_FILES)
                if pair in copied or (pair[0], pair[2], pair[1]) in copied
                else _reach_of_both(row["root"], other["root"], *directories)
            )
            detail = f"It has the same content as {other['metadata_path']}. {TWO_NAMES_ADVICE}"
            yield _doubt(row, row["metadata_path"], TWO_NAMES, detail, reach)


def copied_snapshots(snapshots: Iterable[Row]) -> set[Key]:
    """(audit_id, metadata_path) of those with the same content as another one."""
    return {(row["audit_id"], row["metadata_path"]) for alike in _same(snapshots) for row in alike}


def _same(snapshots: Iterable[Row]) -> list[list[Row]]:
    written = (row for row in snapshots if row["place"] == "metadata")
    groups = by(written, "audit_id", "job_id", "checkpoint_id", "metadata_bytes", "digest")
    return [alike for alike in groups.values() if len({_path(row) for row in alike}) > 1]


def _path(row: Row) -> str:
    return str(row["metadata_path"])


def restored_from_gone(
    restores: Iterable[Row],
    snapshots: Iterable[Row],
    newest: Mapping[Key, Row],
    roots: Sequence[Row],
    reaches: Reaches,
) -> Iterator[Row]:
    """Jobs that may run on files which only an unread snapshot named: it is gone, or lies
    elsewhere. Such a job has to complete another checkpoint, which must have been read if the
    snapshot was another job's, for it may refer to the same files. A database in checkpoint storage
    reads on from there. ``newest``: :func:`newest_checkpoints`.
    """
    read = keys(snapshots, "audit_id", "directory")
    for job in may_run(restores):
        path = job["restored_path"]
        found_at = newest.get(key_of(job, JOB), {}).get("modified")
        has_own = is_less(job["restored_at"], found_at) and not job["reads_restored"]
        # Others may have its id: that it continued from its own is only known if it alone writes
        # there.
        is_own = job["from_job_directory"] == job["written_directory"] is not None
        is_of_other = job["from_prefix"] is None and not is_own
        has_moved_on = is_less(job["restored_at"], job["last_completed_at"]) and (
            has_own or not is_of_other
        )
        if has_moved_on or (job["audit_id"], path) in read:
            continue
        root = root_around(job["audit_id"], path, roots)
        detail = message(
            "Job {job_id:name} was restored from it. No newer checkpoint of that job was "
            "found, or the job still reads files there (ForSt).",
            job_id=job["job_id"],
        )
        reason = "restored_from_elsewhere" if root is None else "restored_from_gone"
        of_origin = [job["from_job_directory"]] if job["from_job_directory"] else []
        reach = reaches.of_job(job["audit_id"], job["job_id"], path, *of_origin)
        yield _doubt(job | {"root": root or ""}, path, reason, detail, reach)


def restored_from_unknown(jobs: Iterable[Row], newest: Mapping[Key, Row]) -> Iterator[Row]:
    """Jobs that may run on a checkpoint in an unknown place: Flink does not always report the path.
    One with a checkpoint of its own since stands on that. ``newest``: :func:`newest_checkpoints`.
    """
    for job in may_run(jobs):
        began_at = largest((job["started_at"], job["restored_at"]))
        may_be = (job["restored_at"] is not None and job["restored_path"] is None) or job[
            "restore_unread"
        ]
        # One that is written if nobody knows may refer to anything.
        has_completed = job["written_directory"] is not None and is_less(
            began_at, job["last_completed_at"]
        )
        found_at = newest.get(key_of(job, JOB), {}).get("modified")
        has_own = found_at is not None and is_less(began_at, found_at - CLOCKS_APART_S * US_PER_S)
        if may_be and not has_completed and not has_own:
            detail = message(
                "Job of {cluster:name}; wait for its next checkpoint and audit again.",
                cluster=job["cluster"],
            )
            yield _doubt(job, job["job_id"], "restored_from_unknown", detail, EVERYTHING)


def writes_elsewhere(
    jobs: Iterable[Row], listed: Iterable[Row], roots: Sequence[Row], reaches: Reaches
) -> list[Row]:
    """Jobs that stem from the audited roots and whose checkpoints, which may refer to files here,
    lie outside of them. ``listed`` are the job directories found: one of its id that its cluster
    may write is of the job before it moved.
    """
    clusters_of = {key_of(root, ("audit_id", "root")): root["clusters"] or [] for root in roots}
    directories = by(listed, "audit_id", "job_id")
    written = [job for job in jobs if job["written_directory"] is not None]
    inside = keys((job for job in written if _is_inside(job, "written_directory", roots)), *JOB)

    def may_write(directory: Row, cluster: str) -> bool:
        clusters = clusters_of[directory["audit_id"], directory["root"]]
        return not clusters or cluster in clusters

    doubts = {}
    for job in written:
        of_its_id = directories.get((job["audit_id"], job["job_id"]), ())
        stems_from_here = _is_inside(job, "restored_path", roots)
        if key_of(job, JOB) in inside or not (
            stems_from_here or any(may_write(entry, job["cluster"]) for entry in of_its_id)
        ):
            continue
        detail = message(
            "Job {job_id:name} of {cluster:name} writes there; add it to the roots.",
            job_id=job["job_id"],
            cluster=job["cluster"],
        )
        reach = reaches.of_job(job["audit_id"], job["job_id"])
        place = job["written_directory"]
        doubts[*key_of(job, JOB), place] = _doubt(job, place, "writes_elsewhere", detail, reach)
    return list(doubts.values())


def _is_inside(job: Row, place: str, roots: Sequence[Row]) -> bool:
    return root_around(job["audit_id"], job[place], roots) is not None


def no_checkpoint_found(
    jobs: Iterable[Row],
    restores: Iterable[Row],
    writers: Iterable[Row],
    newest: Mapping[Key, Row],
    roots: Sequence[Row],
    reaches: Reaches,
) -> Iterator[Row]:
    """Jobs that run and whose newest checkpoint was not found, nor a later one: the listing may
    have passed between two of them, or may be short. Only jobs that write below the audited roots
    or were restored from there. A checkpoint that completed after the listing began is not looked
    for, but any other of its job is.
    """
    from_here = (job for job in restores if _is_inside(job, "restored_path", roots))
    guessed = keys(writers, *JOB) | keys(from_here, *JOB)
    as_of = {
        audit_id: smallest(root["as_of"] for root in of)
        for (audit_id,), of in by(roots, "audit_id").items()
    }
    running = [job for job in may_run(jobs) if job["last_completed_at"] is not None]

    def is_here(job: Row) -> bool:
        if job["written_directory"] is None:
            return key_of(job, JOB) in guessed
        return _is_inside(job, "written_directory", roots)

    here = keys((job for job in running if is_here(job)), *JOB)
    for job in running:
        if key_of(job, JOB) not in here:
            continue
        last = newest.get(key_of(job, JOB))
        is_listed = job["last_completed_at"] < as_of[job["audit_id"]]
        is_older = last is not None and is_listed and is_less(last["id"], job["last_completed_id"])
        # A higher number is of an earlier run under the same id where it was written before this
        # one began.
        if last is None or is_older or is_less(last["modified"], job["started_at"]):
            detail = message(
                "Job of {cluster:name}; audit again, and check whether its checkpoints are "
                "retained.",
                cluster=job["cluster"],
            )
            reach = reaches.of_job(job["audit_id"], job["job_id"])
            yield _doubt(job, job["job_id"], "no_checkpoint_found", detail, reach)


def newest_checkpoints(writers: Sequence[Row], snapshots: Iterable[Row]) -> dict[Key, Row]:
    """``JOB`` → id and ``modified`` of the newest checkpoint, by time, read in the directories it
    writes. Of a job that reported no directory those may be of another job of its id.
    """
    reported = keys(
        (writer for writer in writers if writer["written_directory"]), "audit_id", "job_directory"
    )
    read = by((row for row in snapshots if row["place"] == "metadata"), "audit_id", "job_directory")
    newest: dict[Key, Row] = {}
    for writer in writers:
        of_other = (writer["audit_id"], writer["job_directory"]) in reported
        is_guessed = is_given(writer["job_id"]) and not writer["writes"]
        if writer["written_directory"] is None and (of_other or is_guessed):
            continue
        for row in read.get((writer["audit_id"], writer["job_directory"]), ()):
            number = -1 if row["checkpoint_id"] is None else row["checkpoint_id"]
            read_now = {"id": number, "modified": row["modified"]}
            known = newest.get(key_of(writer, JOB), read_now)
            newest[key_of(writer, JOB)] = max(known, read_now, key=_time)
    return newest


def _time(checkpoint: Row) -> tuple[bool, int, int]:
    modified = checkpoint["modified"]
    return modified is not None, modified or 0, checkpoint["id"]


def distinct(doubts: Iterable[Row]) -> list[Row]:
    names = ("audit_id", "subject", "reason")
    return [
        dict(zip(names, key, strict=True))
        | {name: largest(doubt[name] for doubt in of) for name in ("root", "detail")}
        | {
            "reach": reduce(or_, (doubt["reach"] for doubt in of)),
            "statements": [stated for doubt in of for stated in doubt.get("statements", ())],
        }
        for key, of in by(doubts, *names).items()
    ]


def doubt_rows(
    doubts: Iterable[Row], blocked: Sequence[set[int]], withheld: Sequence[tuple[int, int]]
) -> list[Row]:
    """``storage_doubt``. ``blocked``: the directories that each reaches; ``withheld``: files and
    bytes of each directory that doubts alone keep from being judged.
    """
    return [
        doubt
        | {
            "reach": doubt["reach"].code,
            "places": as_json(doubt["reach"].places[:MOST_PLACES]),
            "more_places": max(len(doubt["reach"].places) - MOST_PLACES, 0),
            "blocked_files": sum(withheld[number][0] for number in reached),
            "blocked_bytes": sum(withheld[number][1] for number in reached),
            "statements": as_json(doubt["statements"]),
        }
        for doubt, reached in zip(doubts, blocked, strict=True)
    ]


def _doubt(row: Row, subject: str, reason: str, detail: str, reach: Reach) -> Row:
    stated: list[Row] = []
    if row.get("cluster") and row.get("job_id"):
        of_job = {"cluster": row["cluster"], "job_id": row["job_id"]}
        stated = [{"kind": DEAD_JOB, "subject": row.get("written_directory") or ""} | of_job]
    return {
        "audit_id": row["audit_id"],
        "subject": subject,
        "reason": reason,
        "root": row.get("root") or "",
        "detail": message_document(detail),
        "reach": reach,
        "statements": stated,
    }
