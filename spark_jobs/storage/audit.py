"""An audit from its inputs to its tables. Data that grow with files are processed by steps of an
``Engine``; data that grow only with jobs, directories and checkpoints here, as plain rows. Steps
(``snapshots``, ``path_facts``, ``verdicts``) work on whole Arrow columns. A Spark worker has part
of the paths, so they may return partial sums.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ingest.uris import Spellings
from spark_jobs.arrow_schemas import arrow_schema, schema
from spark_jobs.audit_tables import AUDIT_TABLES, NEEDED, RESTORES
from spark_jobs.storage import (
    aliases,
    checkpoints,
    directories,
    doubts,
    history,
    lineage,
    operator_states,
    owners,
    path_facts,
    previous_audit,
    reading,
    reference_sums,
    snapshots,
    statements,
    totals,
    verdicts,
)
from spark_jobs.storage.arrays import Tables, sum_rows, table
from spark_jobs.storage.plain import (
    Key,
    Row,
    RowList,
    Rows,
    by,
    is_below,
    key_of,
    keys,
    plain_rows,
    table_of,
)
from spark_jobs.storage.reach import Index, Reaches
from spark_jobs.storage_words import LIVE

EngineRows = Any
"""Rows in the form of an engine: an Arrow table, or files or a frame of Spark."""
Step = Callable[[Tables, Tables], dict[str, pa.Table]]
"""(rows by part, tables that all calls share) → rows by part."""


GroupKeys = Sequence[str] | Mapping[str, Sequence[str]]
"""Columns, for all parts or by part; rows with equal values in these columns are in one call."""


class Engine(Protocol):
    """Calls a step with all rows, or once for each partition."""

    def run(
        self,
        step: Step,
        parts: Mapping[str, EngineRows],
        schemas: Mapping[str, pa.Schema],
        group_keys: GroupKeys | None = None,
        shared: Tables | None = None,
    ) -> dict[str, EngineRows]:
        """``schemas``: of results. Without ``group_keys``, a call gets what one call of the
        previous step returned.
        """

    def collect(self, rows: EngineRows) -> pa.Table:
        """Only for rows that do not grow with files."""


@dataclass(frozen=True)
class Inputs:
    """Paths are canonical except in ``parsed``. ``jobs``: ``restored_path`` is the directory
    restored from, ``written_directory`` what the job is known to write. ``parsed``: a _metadata
    that was read to its end has a row with ordinal 0, else a row with a ``failure``.
    ``known_files``, ``earlier`` (references) and ``state`` (``previous_audit.STATES``) are of the
    previous audit. ``statements``: ``audit_request.Statement``.
    """

    roots: RowList
    jobs: RowList
    doubts: RowList
    listing: EngineRows
    parsed: EngineRows
    known_files: EngineRows
    earlier: EngineRows
    spellings_of: Mapping[str, Spellings]
    statements: RowList = ()
    state: Mapping[str, RowList] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """``live``, ``not_live``: all listed files with verdicts. The next audit gets ``absent``,
    ``pending`` and ``state`` (``previous_audit.STATES``, ``audit_tables.NEEDED``).
    """

    live: EngineRows
    not_live: EngineRows
    references: EngineRows
    absent: Sequence[EngineRows]
    pending: Sequence[EngineRows]
    state: dict[str, pa.Table]
    tables: dict[str, pa.Table]


def judge(inputs: Inputs, engine: Engine) -> Judged:
    roots = sorted(inputs.roots, key=lambda root: (root["audit_id"], root["root"]))
    # What was read, listed and remembered.
    state_before = {name: inputs.state.get(name, ()) for name in previous_audit.STATES}
    lost_before, shared_before = (
        {row["job_directory"] for row in state_before[name]}
        for name in ("storage_lost", "storage_shared")
    )
    snapshot_tables = engine.run(
        partial(snapshots.read_checkpoints, spellings_of=inputs.spellings_of),
        {"parsed": inputs.parsed},
        snapshots.SCHEMAS,
        ("audit_id", "metadata_path"),
    )
    retained = reading.placed_snapshots(engine.collect(snapshot_tables["snapshots"]))
    missed = reading.missed(
        engine.collect(snapshot_tables["failed"]),
        engine.collect(snapshot_tables["bad_paths"]).to_pylist(),
        retained,
    )
    previous = checkpoints.previous_of(retained)
    home_numbers, job_numbers = _Numbering(), _Numbering()
    path_tables = engine.run(
        path_facts.collect_facts,
        {
            "listing": inputs.listing,
            "known": inputs.known_files,
            "storage_reference": snapshot_tables["storage_reference"],
            "segments": snapshot_tables["segments"],
            "earlier": inputs.earlier,
        },
        path_facts.SCHEMAS,
        ("path",),
        {
            "roots": table_of(roots, path_facts.ROOTS),
            "checkpoints": table_of(
                _numbered_checkpoints(retained, previous, roots, home_numbers, job_numbers),
                path_facts.CHECKPOINTS,
            ),
            "listed": table_of(state_before["storage_listed"], previous_audit.LISTED),
        },
    )
    sums = _Sums(engine, path_tables)
    metadata = plain_rows(engine.collect(path_tables["listed_metadata"]))
    file_directories = [
        row | {"audit_id": roots[row["root_no"]]["audit_id"], "root": roots[row["root_no"]]["root"]}
        for row in sums.rows("file_directories")
    ]
    # Which job owns which directory.
    dead = statements.dead_jobs(inputs.statements, inputs.jobs, file_directories)
    jobs = dead.jobs
    excluded = statements.excluded(inputs.statements)
    acknowledged = statements.acknowledged(missed.failed, inputs.statements)
    job_directories = owners.job_directories(file_directories, retained)
    writers = owners.writers(jobs, job_directories, roots)
    owner_rows = statements.with_dead(
        owners.owners(writers, shared_before, state_before["storage_remembered"]),
        dead,
        job_directories,
    )
    sole_owners = owners.sole_writers(owner_rows)
    restores = owners.restores(jobs)

    # Which checkpoints are needed, and which files of jobs.
    owned_checkpoints = checkpoints.with_owners(
        checkpoints.with_figures(retained, sums.by_number("figures", "checkpoint_no")), owner_rows
    )
    remembered = previous_audit.remembered(state_before["storage_remembered"], owner_rows, retained)
    audit_ids = dict.fromkeys(root["audit_id"] for root in roots)
    unsettled, settled = (
        owners.earlier_restores(state_before[RESTORES], jobs, audit_ids, settled=is_settled)
        for is_settled in (False, True)
    )
    all_restores = [*restores, *unsettled]
    outcomes, settled_outcomes = (
        checkpoints.with_outcomes(owned_checkpoints, restored, sole_owners, remembered)
        for restored in (all_restores, settled)
    )
    judged = checkpoints.with_verdicts(
        owned_checkpoints,
        outcomes,
        roots,
        checkpoints.age_starts(metadata),
        dead.since,
        doubts.copied_snapshots(retained),
    )
    chains = _chains(sums, job_numbers.keys, roots)
    known_metadata = plain_rows(engine.collect(path_tables["known_metadata"]))
    unread_rows = sums.rows("unread_checkpoints")
    read_now = keys(retained, "audit_id", "metadata_path")
    unread = history.unread(
        unread_rows, metadata, read_now, known_metadata, jobs, sole_owners, roots
    )
    unfound = checkpoints.last_unfound(owned_checkpoints, outcomes, jobs, sole_owners, remembered)
    elsewhere = history.perhaps_elsewhere(unread_rows, unread, sums.rows("vanished_checkpoints"))
    family = lineage.Family(
        jobs, all_restores, chains, sole_owners, unfound, set(dead.since), file_directories
    )
    no_metadata = missed.foreign | acknowledged
    needed, all_needed = lineage.needed_jobs(
        [
            row
            for row in (*metadata, *elsewhere)
            if (row["audit_id"], row["path"]) not in no_metadata
        ],
        replace(family, restores=restores),
        roots,
    )
    # The origins of jobs of an unseen cluster are unknown.
    all_needed |= {root["audit_id"] for root in roots if root["any_unreachable"]}
    is_whole = doubts.are_listed_whole(inputs.doubts, roots)
    used_directories = keys(
        (owner for owner in owner_rows if owner["suspects"]), "audit_id", "job_directory"
    )
    alike = _compare_names(
        engine, path_tables, sums, file_directories, roots, is_whole, used_directories, excluded
    )
    newest = doubts.newest_checkpoints(writers, retained)
    reaches = Reaches(lineage.Origins(family), dead.since)
    unread_doubts = doubts.without_failed_checkpoints(missed.doubts, owner_rows, metadata)
    all_doubts = doubts.merge(
        [
            *doubts.listing_doubts(inputs.doubts, roots, reaches),
            *doubts.metadata_doubts(unread_doubts, reaches, acknowledged),
            *doubts.void_attestations(dead.void),
            *doubts.unknown_authorities(sums.rows("outside"), roots),
            *doubts.spelling_doubts(alike.spellings),
            *doubts.twin_doubts(alike.twins, alike.copied),
            *doubts.same_content_doubts(retained, alike.copied),
            *doubts.restored_from_gone(restores, retained, newest, roots, reaches),
            *doubts.restored_from_unknown(jobs, newest),
            *doubts.writes_elsewhere(jobs, job_directories, roots, reaches),
            *doubts.no_checkpoint_found(jobs, restores, writers, newest, roots, reaches),
        ]
    )
    index = Index(file_directories)
    reached_by = [index.find(doubt["audit_id"], doubt["reach"]) for doubt in all_doubts]
    directory_rows = directories.directory_rows(
        file_directories,
        roots,
        owner_rows,
        needed_jobs=needed,
        all_needed=all_needed,
        doubted=set().union(*reached_by),
        unfound=unfound,
        needed_by_unfound=lineage.needed_by_unfound(
            family, keys(retained, "audit_id", "directory")
        ),
        lost=lost_before,
    )
    parts = {"files": path_tables["files"], "unread": path_tables["unread"], **alike.parts}
    shared = {
        "directories": table_of(directory_rows, verdicts.DIRECTORIES),
        "restored": _keyed(checkpoints.restored_directories(outcomes), "directory"),
        "excluded": _keyed(excluded, "directory"),
        "gone": _keyed(missed.vanished, "metadata_path"),
        "vanished": _keyed(unread.vanished, "metadata_path"),
        "gone_before": _keyed(unread.gone, "metadata_path"),
    }

    def run(step: Step, schemas: Mapping[str, pa.Schema]) -> dict[str, EngineRows]:
        rows = (row | {"is_live": row["verdict"] == LIVE} for row in judged)
        tables = shared | {"checkpoints": table_of(rows, verdicts.CHECKPOINTS)}
        return engine.run(step, parts, schemas, ("path",) if alike.parts else None, tables)

    if any(row["verdict"] != LIVE for row in judged):
        namers = run(verdicts.find_namers, {"namers": verdicts.NAMERS})["namers"]
        judged = checkpoints.with_namers(judged, engine.collect(namers).to_pylist())
    files = run(verdicts.judge_files, verdicts.SCHEMAS)
    lost_now = keys(engine.collect(files["storage_lost"]).to_pylist(), "job_directory")
    cube = engine.collect(
        engine.run(_add_up_cube, {"cube": files["cube"]}, {"cube": totals.CUBE}, totals.CUBE_KEY)[
            "cube"
        ]
    )
    rows = checkpoints.checkpoint_rows(
        judged, previous, sums.by_number("compared", "checkpoint_no"), jobs
    )
    lost = {
        key_of(roots[number], ("audit_id", "root")): row
        for number, row in sums.by_number("lost", "root_no").items()
    }
    reached = {
        home_numbers.keys[number]: row
        for number, row in sums.by_number("reached", "home_no").items()
    }
    tables = {
        "storage_root": totals.root_rows(
            cube, directory_rows, judged, lost, all_doubts, reached_by, missed.of_root, roots
        ),
        "storage_verdict": totals.verdict_rows(cube, directory_rows),
        "storage_job": totals.job_rows(cube, directory_rows, judged, reached, owner_rows),
        "storage_checkpoint": rows,
        "storage_operator_state": operator_states.operator_state_rows(
            engine.collect(snapshot_tables["operators"]).to_pylist(), rows
        ),
        "storage_chain": lineage.chain_rows(chains, restores, sole_owners, roots),
        "storage_doubt": doubts.doubt_rows(
            all_doubts, reached_by, totals.withheld_by_doubt(cube, directory_rows)
        ),
    }
    arrow_tables = {
        name: table_of(table_rows, arrow_schema(AUDIT_TABLES[name]))
        for name, table_rows in tables.items()
    }
    arrow_tables["storage_missing"] = _missing(
        sums.table("missing"), judged, checkpoints.superseded(judged, restores), roots
    )
    shared_now = keys((owner for owner in owner_rows if owner["shared"]), "job_directory")
    as_of = max(root["as_of"] for root in roots)
    state = {
        "storage_listed": previous_audit.roots_listed(state_before["storage_listed"], roots),
        "storage_lost": _directories(lost_before, lost_now),
        "storage_shared": _directories(shared_before, shared_now),
        "storage_remembered": remembered,
        RESTORES: previous_audit.restores(outcomes, settled_outcomes, as_of),
    }
    needed_ids = [*sorted({job_id for _, job_id in needed}), *([None] if all_needed else [])]
    return Judged(
        live=files["storage_live"],
        not_live=files["not_live"],
        references=snapshot_tables["storage_reference"],
        absent=[path_tables["storage_absent"]],
        pending=[path_tables["storage_pending"], files["storage_pending"]],
        state={
            name: table_of(state_rows, previous_audit.STATES[name][0])
            for name, state_rows in state.items()
        }
        | {NEEDED: pa.table({"job_id": pa.array(needed_ids, pa.string())})},
        tables={name: arrow_tables[name] for name in AUDIT_TABLES},
    )


class _Numbering:
    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    @property
    def keys(self) -> list[Key]:
        return list(self._numbers)


_SUM_KEYS = {
    "file_directories": ("root_no", "job_directory", "job_id"),
    "figures": ("checkpoint_no",),
    "compared": ("checkpoint_no",),
    "reached": ("home_no",),
    "chains": ("job_no", "root_no", "other_job_directory", "other_job_id"),
    "chained": ("job_no", "root_no", "other_job_directory", "checkpoint_no"),
    "lost": ("root_no",),
    "outside": ("audit_id", "authority", "job_id"),
    "not_found_of": ("audit_id",),
    "unread_checkpoints": ("audit_id", "metadata_path"),
    "vanished_checkpoints": ("audit_id", "metadata_path"),
    "missing": ("checkpoint_no",),
}
"""Parts of ``path_facts.SCHEMAS`` that are partial sums → the columns by which to add them up."""


def _add_up(parts: Tables, _: Tables) -> dict[str, pa.Table]:
    return {
        name: (
            reference_sums.first_missing(rows)
            if name == "missing"
            else sum_rows(rows, _SUM_KEYS[name], ("metadata_path",), ("newest",))
        ).select(path_facts.SCHEMAS[name].names)
        for name, rows in parts.items()
    }


def _add_up_cube(parts: Tables, _: Tables) -> dict[str, pa.Table]:
    return {"cube": sum_rows(parts["cube"], totals.CUBE_KEY)}


class _Sums:
    def __init__(self, engine: Engine, parts: Mapping[str, EngineRows]) -> None:
        self._engine = engine
        self._sums = engine.run(
            _add_up, {name: parts[name] for name in _SUM_KEYS}, path_facts.SCHEMAS, _SUM_KEYS
        )

    def table(self, name: str) -> pa.Table:
        return self._engine.collect(self._sums[name])

    def rows(self, name: str) -> list[Row]:
        return list(self.table(name).to_pylist())

    def by_number(self, name: str, number: str) -> dict[int, Row]:
        return {row.pop(number): row for row in self.rows(name)}


def _numbered_checkpoints(
    retained: Rows,
    previous: Mapping[int, int],
    roots: Rows,
    homes: _Numbering,
    jobs: _Numbering,
) -> list[Row]:
    as_of = {
        audit_id: min(root["as_of"] for root in audit_roots)
        for (audit_id,), audit_roots in by(roots, "audit_id").items()
    }
    return [
        row
        | {
            "is_covered": row["modified"] is not None and row["modified"] < as_of[row["audit_id"]],
            "previous_no": previous.get(number, -1),
            "job_no": jobs.number((row["audit_id"], row["job_directory"], row["job_id"])),
            "home_no": -1
            if row["is_savepoint"] or row["job_directory"] is None
            else homes.number((row["audit_id"], row["root"], row["job_directory"])),
        }
        for number, row in enumerate(retained)
    ]


@dataclass(frozen=True)
class _SimilarNames:
    parts: Mapping[str, EngineRows]
    """``alike``: files that may have another name; no part if there are none."""
    spellings: RowList = ()
    twins: RowList = ()
    copied: Set[Key] = frozenset()
    """(audit_id, job directory, other job directory), of which one is a copy of the other."""


def _compare_names(
    engine: Engine,
    path_tables: Mapping[str, EngineRows],
    sums: _Sums,
    file_directories: RowList,
    roots: RowList,
    is_whole: Sequence[bool],
    used_directories: Set[Key],
    excluded: Set[Key],
) -> _SimilarNames:
    """Needed only if a reference was not found, or a job id has several directories."""
    in_job = [row for row in file_directories if row["job_id"] is not None]
    spread = [
        dict(zip(("audit_id", "job_id"), key, strict=True))
        for key, rows in by(in_job, "audit_id", "job_id").items()
        if len({row["job_directory"] for row in rows}) > 1
    ]
    not_found = sums.table("not_found_of")
    if not spread and not not_found.num_rows:
        return _SimilarNames({})
    ends = engine.run(
        aliases.ends_of_paths,
        {name: path_tables[name] for name in ("files", "not_found", "unread")},
        aliases.ENDS,
        shared={"spread": table_of(spread, aliases.SPREAD), "not_found": not_found},
    )
    in_use = used_directories | keys(
        engine.collect(ends.pop("used")).to_pylist(), "audit_id", "job_directory"
    )
    set_apart = {
        (row["audit_id"], row["job_directory"])
        for row in in_job
        if any(
            row["audit_id"] == audit_id and is_below(row["job_directory"], directory)
            for audit_id, directory in excluded
        )
    } - in_use
    compared = engine.run(
        aliases.compare_names,
        ends,
        aliases.SCHEMAS,
        ("end",),
        {
            "roots": table_of([{"is_whole": whole} for whole in is_whole], aliases.ROOTS),
            "used": _keyed(in_use, "job_directory"),
            "set_apart": _keyed(set_apart, "job_directory"),
        },
    )
    spellings = engine.collect(compared["spellings"]).to_pylist()
    pairs = sum_rows(engine.collect(compared["twins"]), aliases.PAIR, ("path",)).to_pylist()
    twins = [
        pair
        | {f"{side}root": roots[pair[f"{side}root_no"]]["root"] for side in ("", "other_")}
        | {
            f"{side}directory": pair[f"{side}job_directory"].rpartition("/")[0]
            for side in ("", "other_")
        }
        for pair in pairs
    ]
    copied = set()
    for pair in pairs:
        audit_id = pair["audit_id"]
        sides = {(audit_id, pair[f"{side}job_directory"]) for side in ("", "other_")}
        is_one_listing = pair["root_no"] == pair["other_root_no"]
        if sides & set_apart or (
            is_one_listing and is_whole[pair["root_no"]] and not sides <= in_use
        ):
            copied.add((audit_id, pair["job_directory"], pair["other_job_directory"]))
    parts = {"alike": compared["alike"]} if spellings or twins else {}
    return _SimilarNames(parts, spellings, twins, copied)


def _chains(sums: _Sums, jobs: Sequence[Key], roots: RowList) -> list[Row]:
    """References of jobs to other jobs' files. A savepoint's job columns are null."""
    referrer = ("job_no", "root_no", "other_job_directory")
    checkpoints_of = by(sums.rows("chained"), *referrer)
    return [
        row
        | dict(zip(("audit_id", "job_directory", "job_id"), jobs[row["job_no"]], strict=True))
        | {
            "root": roots[row["root_no"]]["root"] if row["root_no"] >= 0 else "",
            "checkpoints": len(checkpoints_of[key_of(row, referrer)]),
        }
        for row in sums.rows("chains")
    ]


def _directories(before: Set[str], now: Iterable[Key]) -> list[Row]:
    directories = before | {directory for (directory,) in now}
    return [{"job_directory": directory} for directory in sorted(directories)]


def _keyed(keys: Iterable[Key], name: str) -> pa.Table:
    rows = [dict(zip(("audit_id", name), key, strict=True)) for key in sorted(keys)]
    return table_of(rows, schema(**dict.fromkeys(("audit_id", name), "text")))


def _missing(missing: pa.Table, judged: RowList, superseded: set[Key], roots: RowList) -> pa.Table:
    at = pa.array(missing.column("checkpoint_no").to_numpy().astype(np.int64))
    root = pa.array([root["root"] for root in roots], pa.string()).take(
        missing.column("root_no").combine_chunks()
    )
    checkpoint_columns = {
        name: pa.array([row[name] for row in judged], pa.string()).take(at)
        for name in checkpoints.CHECKPOINT
    }
    is_superseded = pa.array(
        [key_of(row, checkpoints.CHECKPOINT) in superseded for row in judged], pa.bool_()
    )
    columns = checkpoint_columns | {
        "root": root,
        "path": missing.column("path"),
        "bytes": missing.column("bytes"),
        "superseded": is_superseded.take(at),
    }
    return table(columns, arrow_schema(AUDIT_TABLES["storage_missing"]))
