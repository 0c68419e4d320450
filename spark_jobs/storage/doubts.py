"""Doubts: anything that may hide a referrer of files. A doubt keeps all files within its ``reach``;
its meaning and what ends it are in ``storage_words.DOUBTS``. If two spellings may mean one file,
only an operator can decide: an alias makes them one, an alias of a prefix to itself says that they
differ.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import reduce
from operator import or_

import pyarrow as pa

from ingest.flink_ids import is_given
from ingest.messages import message, message_document
from ingest.storage.layout import METADATA_NAME
from spark_jobs.storage.layout_columns import placed
from spark_jobs.storage.owners import CLOCKS_APART_S, JOB, is_of_time, may_run, root_around
from spark_jobs.storage.plain import (
    US_PER_S,
    Key,
    Row,
    RowList,
    Rows,
    as_json,
    by,
    is_less,
    key_of,
    keys,
    largest,
    smallest,
)
from spark_jobs.storage.reach import EVERYTHING, Reach, Reaches, below, in_directory, of_jobs
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
"""Places in the row of one doubt. If it has more, readers of the row take its reach as all."""
_MADE_BY_FLINK = re.compile(
    r"(?:/(?:chk-[0-9]*|shared|taskowned|dstl|op_[^/]+)(?:/.*)?)?/_metadata"
)
_OF_CHECKPOINT = re.compile(r"/chk-[0-9]+/_metadata")
_HIDES_CHECKPOINT = re.compile(r"/(?:chk-[0-9]+|[0-9a-f]{32}|_metadata)$")


def listing_doubts(doubts: Rows, roots: RowList, reaches: Reaches) -> list[Row]:
    """Doubts about listings: an unlisted directory may contain a checkpoint of the job in whose
    directory it is, else of any job.
    """
    rows = list(doubts)
    places = _in_jobs([f"{row['subject']}/{METADATA_NAME}" for row in rows], _MADE_BY_FLINK)
    return [
        row
        | {
            "statements": _dead_job_statement(directory),
            "reach": _unlisted_reach(row, directory, job_id, roots, reaches),
        }
        for row, (directory, job_id) in zip(rows, places, strict=True)
    ]


def _in_jobs(paths: Sequence[str], layout: re.Pattern[str]) -> list[tuple[str | None, str | None]]:
    """(job directory, job id) of each path; (None, None) outside Flink's ``layout``."""
    where = placed(pa.array(paths, pa.string()))
    return [
        (directory, job_id)
        if directory is not None and layout.fullmatch(path.removeprefix(directory))
        else (None, None)
        for path, directory, job_id in zip(
            paths, where.job_directory.to_pylist(), where.job_id.to_pylist(), strict=True
        )
    ]


def _unlisted_reach(
    row: Row, directory: str | None, job_id: str | None, roots: RowList, reaches: Reaches
) -> Reach:
    subject, other, audit_id = row["subject"], row.get("other") or "", row["audit_id"]
    if row["reason"] == TWO_NAMES:
        if not other:
            return EVERYTHING
        root, other_root = (root_around(audit_id, f"{place}/", roots) for place in (subject, other))
        return _reach_of_pair(root, other_root, subject, other)
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
        # The target's files are listed and read under their own names.
        return below(subject, other)
    if directory is not None or _HIDES_CHECKPOINT.search(subject):
        return reaches.of_job(audit_id, job_id, subject)
    return below(subject)


def are_listed_whole(doubts: Rows, roots: RowList) -> list[bool]:
    """For each root. A link's target counts as listed if it is below an audited root."""
    inner_links = Counter(
        key_of(row, ("audit_id", "root"))
        for row in doubts
        if row["reason"] == "link"
        and row.get("other")
        and root_around(row["audit_id"], row["other"], roots) is not None
    )
    return [root["unlisted"] == inner_links[key_of(root, ("audit_id", "root"))] for root in roots]


def metadata_doubts(doubts: Rows, reaches: Reaches, settled: Set[Key]) -> list[Row]:
    """Doubts about ``_metadata`` that are not ``settled``."""
    rows = [row for row in doubts if (row["audit_id"], row["subject"]) not in settled]
    places = _in_jobs([row["subject"] for row in rows], _OF_CHECKPOINT)
    return [
        row
        | {
            "statements": [*_dead_job_statement(directory), *_foreign_file_statement(row)],
            "reach": reaches.of_metadata(row, directory, job_id),
        }
        for row, (directory, job_id) in zip(rows, places, strict=True)
    ]


def _reach_of_pair(root: str | None, other_root: str | None, *directories: str) -> Reach:
    """Both roots if they differ: as they share a directory, they may be one root."""
    if root == other_root or root is None or other_root is None:
        return below(*directories)
    return below(root, other_root)


def void_attestations(statements: Rows) -> Iterator[Row]:
    detail = message("It no longer counts: from this audit on, no verdict is based on it.")
    for row in statements:
        directory = row["subject"]
        reach = in_directory(directory) if directory else of_jobs([row["job_id"]])
        subject = directory or f"{row['cluster']}/{row['job_id']}"
        yield _doubt(row, subject, VOID_ATTESTATION, detail, reach)


def _dead_job_statement(directory: str | None) -> list[Row]:
    return [] if directory is None else [{"kind": DEAD_JOB, "subject": directory}]


def _foreign_file_statement(row: Row) -> list[Row]:
    if row["reason"] not in ACKNOWLEDGEABLE:
        return []
    modified, head = row["metadata_modified"], row["head_sha256"]
    if modified is None or head is None:
        return []
    file = {"kind": FOREIGN_FILE, "subject": row["subject"], "bytes": row["metadata_bytes"]}
    return [file | {"modified": modified, "head_sha256": head}]


def without_failed_checkpoints(doubts: RowList, owners: Rows, metadata: Rows) -> list[Row]:
    """Leaves out doubts about a _metadata whose checkpoint provably never completed: it refers to
    nothing. Numbers repeat if a job starts again under its id, so the file must be of that
    checkpoint's time.
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
    listed = by(metadata, "audit_id", "path")
    where = placed(pa.array([doubt["subject"] for doubt in doubts], pa.string()))
    locations = (
        array.to_pylist() for array in (where.place, where.job_directory, where.checkpoint_id)
    )

    def is_explained(doubt: Row, place: str, directory: str | None, number: int | None) -> bool:
        if doubt["reason"] not in OF_METADATA or place != "metadata":
            return False
        rows = listed.get((doubt["audit_id"], doubt["subject"]), ())
        modified = largest(row["modified"] for row in rows)
        ends = failed.get((doubt["audit_id"], directory, number), ())
        return any(is_of_time(modified, end, CLOCKS_APART_S) for end in ends)

    rows = zip(doubts, *locations, strict=True)
    return [doubt for doubt, *location in rows if not is_explained(doubt, *location)]


def unknown_authorities(outside: Rows, roots: Rows) -> Iterator[Row]:
    """A doubt for each file system in references without an audited root. It reaches the jobs whose
    directories are in these references.
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


def spelling_doubts(spellings: Rows) -> Iterator[Row]:
    """One doubt per audit. It names the first spelling, and reaches the directories of all."""
    for rows in by(spellings, "audit_id").values():
        first = min(rows, key=lambda row: str(row["path"]))
        files = sum(row["files"] for row in rows)
        detail = (
            f"It may be {first['path']}, as may others of {files} files; "
            "declare in the spellings what its directory means."
        )
        reach = of_jobs((), *(row["job_directory"] for row in rows if row["job_directory"]))
        yield _doubt(first, first["referred_as"], "other_spelling", detail, reach)


def twin_doubts(pairs: Rows, copied: Set[Key]) -> Iterator[Row]:
    """A doubt for each pair of directories with the same files. ``copied``: pairs of which one is a
    copy that nobody writes to and no reference names; their files are judged one by one.
    """
    for pair in pairs:
        key = (pair["audit_id"], pair["job_directory"], pair["other_job_directory"])
        detail = (
            f"{pair['files']} files below it are also listed below {pair['other_directory']}, "
            f"such as {pair['path']}. {TWO_NAMES_ADVICE}"
        )
        reach = (
            Reach(NAMED_FILES)
            if key in copied
            else _reach_of_pair(pair["root"], pair["other_root"], *key[1:])
        )
        yield _doubt(pair, pair["directory"], TWO_NAMES, detail, reach)


def same_content_doubts(snapshots: Rows, copied: Set[Key]) -> Iterator[Row]:
    """A doubt for each checkpoint whose _metadata equals that of another with its job and number.
    Jobs with fixed ids have many checkpoints of one number, but with other references.
    """
    for group in _same_content(snapshots):
        first, last = (min(group, key=_path), max(group, key=_path))
        directories = [row["job_directory"] for row in group if row["job_directory"]]
        for row in group:
            other = last if row is first else first
            pair = (row["audit_id"], row["job_directory"], other["job_directory"])
            reach = (
                Reach(NAMED_FILES)
                if pair in copied or (pair[0], pair[2], pair[1]) in copied
                else _reach_of_pair(row["root"], other["root"], *directories)
            )
            detail = f"It has the same content as {other['metadata_path']}. {TWO_NAMES_ADVICE}"
            yield _doubt(row, row["metadata_path"], TWO_NAMES, detail, reach)


def copied_snapshots(snapshots: Rows) -> set[Key]:
    return {
        (row["audit_id"], row["metadata_path"])
        for group in _same_content(snapshots)
        for row in group
    }


def _same_content(snapshots: Rows) -> list[list[Row]]:
    checkpoints = (row for row in snapshots if row["place"] == "metadata")
    groups = by(checkpoints, "audit_id", "job_id", "checkpoint_id", "metadata_bytes", "digest")
    return [group for group in groups.values() if len({_path(row) for row in group}) > 1]


def _path(row: Row) -> str:
    return str(row["metadata_path"])


def restored_from_gone(
    restores: Rows,
    snapshots: Rows,
    newest: Mapping[Key, Row],
    roots: RowList,
    reaches: Reaches,
) -> Iterator[Row]:
    """A doubt for each job that may still use files of a snapshot that was not read: gone or
    outside the roots. It ends with another completed checkpoint of the job; if the snapshot was of
    another job, this checkpoint must be read, since it may refer to the same files. A database in
    checkpoint storage (``reads_restored``) keeps reading the files. ``newest``:
    ``newest_checkpoints``.
    """
    read = keys(snapshots, "audit_id", "directory")
    for job in may_run(restores):
        path = job["restored_path"]
        found_at = newest.get(key_of(job, JOB), {}).get("modified")
        has_own = is_less(job["restored_at"], found_at) and not job["reads_restored"]
        # Other jobs may have its id, so the directory decides whether the snapshot is its own.
        is_own = job["from_job_directory"] == job["written_directory"] is not None
        is_of_other_job = job["from_prefix"] is None and not is_own
        has_moved_on = is_less(job["restored_at"], job["last_completed_at"]) and (
            has_own or not is_of_other_job
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
        origins = [job["from_job_directory"]] if job["from_job_directory"] else []
        reach = reaches.of_job(job["audit_id"], job["job_id"], path, *origins)
        yield _doubt(job | {"root": root or ""}, path, reason, detail, reach)


def restored_from_unknown(jobs: Rows, newest: Mapping[Key, Row]) -> Iterator[Row]:
    """A doubt for each job that may use files of a snapshot whose path Flink did not report, until
    a later checkpoint of its own. ``newest``: ``newest_checkpoints``.
    """
    for job in may_run(jobs):
        began_at = largest((job["started_at"], job["restored_at"]))
        has_unknown_path = job["restored_at"] is not None and job["restored_path"] is None
        may_be = has_unknown_path or job["restore_unread"]
        # A checkpoint in an unknown directory may refer to any file.
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


def writes_elsewhere(jobs: Rows, listed: Rows, roots: RowList, reaches: Reaches) -> list[Row]:
    """A doubt for each job that stems from the audited roots but writes elsewhere: its checkpoints
    may refer to their files. It was restored from the roots, or its cluster may have written a
    listed directory of its id before it moved.
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
        same_id = directories.get((job["audit_id"], job["job_id"]), ())
        stems_from_here = _is_inside(job, "restored_path", roots) or any(
            may_write(directory, job["cluster"]) for directory in same_id
        )
        if key_of(job, JOB) in inside or not stems_from_here:
            continue
        detail = message(
            "Job {job_id:name} of {cluster:name} writes there; add it to the roots.",
            job_id=job["job_id"],
            cluster=job["cluster"],
        )
        reach = reaches.of_job(job["audit_id"], job["job_id"])
        target = job["written_directory"]
        doubts[*key_of(job, JOB), target] = _doubt(job, target, "writes_elsewhere", detail, reach)
    return list(doubts.values())


def _is_inside(job: Row, place: str, roots: RowList) -> bool:
    return root_around(job["audit_id"], job[place], roots) is not None


def no_checkpoint_found(
    jobs: Rows,
    restores: Rows,
    writers: Rows,
    newest: Mapping[Key, Row],
    roots: RowList,
    reaches: Reaches,
) -> Iterator[Row]:
    """A doubt for each running job of the audited roots of which neither the newest checkpoint nor
    a later one was found: the listing may lack files. If the newest completed after the listing
    began, any checkpoint will do. A job is of the roots if it writes below them; if its directory
    is unknown, also if it may write there or was restored from there.
    """
    restored_here = (job for job in restores if _is_inside(job, "restored_path", roots))
    perhaps_here = keys(writers, *JOB) | keys(restored_here, *JOB)
    as_of = {
        audit_id: smallest(root["as_of"] for root in audit_roots)
        for (audit_id,), audit_roots in by(roots, "audit_id").items()
    }
    running = [job for job in may_run(jobs) if job["last_completed_at"] is not None]

    def writes_here(job: Row) -> bool:
        if job["written_directory"] is None:
            return key_of(job, JOB) in perhaps_here
        return _is_inside(job, "written_directory", roots)

    jobs_here = keys((job for job in running if writes_here(job)), *JOB)
    for job in running:
        if key_of(job, JOB) not in jobs_here:
            continue
        last = newest.get(key_of(job, JOB))
        is_listed = job["last_completed_at"] < as_of[job["audit_id"]]
        is_older = last is not None and is_listed and is_less(last["id"], job["last_completed_id"])
        # A checkpoint written before this run began is of an earlier run under the same id.
        if last is None or is_older or is_less(last["modified"], job["started_at"]):
            detail = message(
                "Job of {cluster:name}; audit again, and check whether its checkpoints are "
                "retained.",
                cluster=job["cluster"],
            )
            reach = reaches.of_job(job["audit_id"], job["job_id"])
            yield _doubt(job, job["job_id"], "no_checkpoint_found", detail, reach)


def newest_checkpoints(writers: RowList, snapshots: Rows) -> dict[Key, Row]:
    """``JOB`` → ``id`` and ``modified`` of the newest read checkpoint in the directories that the
    job writes. If it reported none, another job with its id may be there: directories that other
    jobs reported are left out.
    """
    reported = keys(
        (writer for writer in writers if writer["written_directory"]), "audit_id", "job_directory"
    )
    read = by((row for row in snapshots if row["place"] == "metadata"), "audit_id", "job_directory")
    newest: dict[Key, Row] = {}
    for writer in writers:
        is_of_other_job = (writer["audit_id"], writer["job_directory"]) in reported
        is_guessed = is_given(writer["job_id"]) and not writer["writes"]
        if writer["written_directory"] is None and (is_of_other_job or is_guessed):
            continue
        for row in read.get((writer["audit_id"], writer["job_directory"]), ()):
            number = -1 if row["checkpoint_id"] is None else row["checkpoint_id"]
            checkpoint = {"id": number, "modified": row["modified"]}
            newest_so_far = newest.get(key_of(writer, JOB), checkpoint)
            newest[key_of(writer, JOB)] = max(newest_so_far, checkpoint, key=_time)
    return newest


def _time(checkpoint: Row) -> tuple[bool, int, int]:
    modified = checkpoint["modified"]
    return modified is not None, modified or 0, checkpoint["id"]


def merge(doubts: Rows) -> list[Row]:
    names = ("audit_id", "subject", "reason")
    return [
        dict(zip(names, key, strict=True))
        | {name: largest(doubt[name] for doubt in group) for name in ("root", "detail")}
        | {
            "reach": reduce(or_, (doubt["reach"] for doubt in group)),
            "statements": [
                statement for doubt in group for statement in doubt.get("statements", ())
            ],
        }
        for key, group in by(doubts, *names).items()
    ]


def doubt_rows(
    doubts: Rows, blocked: Sequence[set[int]], withheld: Sequence[tuple[int, int]]
) -> list[Row]:
    """Rows of ``storage_doubt``. ``blocked``: numbers of the directories that each doubt reaches;
    ``withheld``: by directory, files and bytes that only doubts keep.
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
    statements: list[Row] = []
    if row.get("cluster") and row.get("job_id"):
        subject_of_job = row.get("written_directory") or ""
        job = {"cluster": row["cluster"], "job_id": row["job_id"]}
        statements = [{"kind": DEAD_JOB, "subject": subject_of_job} | job]
    return {
        "audit_id": row["audit_id"],
        "subject": subject,
        "reason": reason,
        "root": row.get("root") or "",
        "detail": message_document(detail),
        "reach": reach,
        "statements": statements,
    }
