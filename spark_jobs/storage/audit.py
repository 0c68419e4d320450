"""An audit from its inputs to its tables. Data that grow with files are processed by steps of an
:class:`Engine`, in this process or on Spark; data that grow only with jobs, directories and
checkpoints are judged here, as plain rows.

Steps take whole Arrow columns: by checkpoint (``snapshots``), by path (``path_facts``), and the
verdict on each file (``verdicts``). A Spark worker has a part of the paths, so a step returns
partial results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ingest.uris import Spellings
from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.audit_tables import AUDIT_TABLES, NEEDED, RESTORES
from spark_jobs.storage import (
    aliases,
    carried,
    checkpoints,
    directories,
    doubts,
    history,
    lineage,
    operator_states,
    owners,
    path_facts,
    reading,
    reference_sums,
    snapshots,
    statements,
    totals,
    verdicts,
)
from spark_jobs.storage.arrays import Tables, summed
from spark_jobs.storage.plain import Key, Row, by, is_below, key_of, keys, plain_rows, table_of
from spark_jobs.storage.reach import Index, Reaches
from spark_jobs.storage_words import LIVE

Rows = Any
"""Rows of files as an engine holds them."""
Step = Callable[[Tables, Tables], dict[str, pa.Table]]
"""(rows by part, side tables) → rows by part. All calls get the same side tables."""


GroupKeys = Sequence[str] | Mapping[str, Sequence[str]]
"""Columns, for all parts or by part; rows with equal values in these columns are in one call."""


class Engine(Protocol):
    """Calls a step with all rows at once, or once for each of many partitions."""

    def run(
        self,
        step: Step,
        parts: Mapping[str, Rows],
        schemas: Mapping[str, pa.Schema],
        group_keys: GroupKeys | None = None,
        side_tables: Tables | None = None,
    ) -> dict[str, Rows]:
        """``schemas``: of the results. Without ``group_keys``, the results of one call of the
        previous step are in one call.
        """

    def collect(self, rows: Rows) -> pa.Table:
        """Rows in memory: only for rows that do not grow with the number of files."""


@dataclass(frozen=True)
class Inputs:
    """Paths are canonical, but for those of ``parsed``.

    ``jobs``: ``restored_path`` is the directory restored from, ``written_directory`` the job
    directory that the job is known to write. ``parsed`` has a row with ordinal 0 for each
    ``_metadata`` that was read to its end, and one with a ``failure`` for each that was not.
    ``known_files``, ``earlier`` and ``state`` (``carried.STATES``) were left by the audit before.
    ``statements``: ``audit_request.Statement``.
    """

    roots: Sequence[Row]
    jobs: Sequence[Row]
    doubts: Sequence[Row]
    listing: Rows
    parsed: Rows
    known_files: Rows
    earlier: Rows
    spellings_of: Mapping[str, Spellings]
    statements: Sequence[Row] = ()
    state: Mapping[str, Sequence[Row]] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """``live`` and ``not_live``: all listed files with their verdict. ``absent``, ``pending`` and
    ``state`` (``carried.STATES`` and ``audit_tables.NEEDED``) are for the next audit.
    """

    live: Rows
    not_live: Rows
    references: Rows
    absent: Sequence[Rows]
    pending: Sequence[Rows]
    state: dict[str, pa.Table]
    tables: dict[str, pa.Table]


def judge(inputs: Inputs, engine: Engine) -> Judged:
    roots = sorted(inputs.roots, key=lambda root: (root["audit_id"], root["root"]))
    before = {name: inputs.state.get(name, ()) for name in carried.STATES}
    lost_before, shared_before = (
        {row["job_directory"] for row in before[name]}
        for name in ("storage_lost", "storage_shared")
    )
    read = engine.run(
        partial(snapshots.read_checkpoints, spellings_of=inputs.spellings_of),
        {"parsed": inputs.parsed},
        snapshots.SCHEMAS,
        ("audit_id", "metadata_path"),
    )
    retained = reading.placed_snapshots(engine.collect(read["snapshots"]))
    missed = reading.missed(
        engine.collect(read["failed"]), engine.collect(read["bad_paths"]).to_pylist(), retained
    )
    previous = checkpoints.previous_of(retained)
    homes, jobs_of = _Numbered(), _Numbered()
    of_paths = engine.run(
        path_facts.of_paths,
        {
            "listing": inputs.listing,
            "known": inputs.known_files,
            "storage_reference": read["storage_reference"],
            "segments": read["segments"],
            "earlier": inputs.earlier,
        },
        path_facts.SCHEMAS,
        ("path",),
        {
            "roots": table_of(roots, path_facts.ROOTS),
            "checkpoints": table_of(
                _numbered_checkpoints(retained, previous, roots, homes, jobs_of),
                path_facts.CHECKPOINTS,
            ),
            "listed": table_of(before["storage_listed"], carried.LISTED),
        },
    )
    sums = _Sums(engine, of_paths)
    metadata = plain_rows(engine.collect(of_paths["listed_metadata"]))
    held = [
        row | {"audit_id": roots[row["root_no"]]["audit_id"], "root": roots[row["root_no"]]["root"]}
        for row in sums.rows("held")
    ]
    dead = statements.dead_jobs(inputs.statements, inputs.jobs, held)
    jobs = dead.jobs
    excluded = statements.excluded(inputs.statements)
    acknowledged = statements.acknowledged(missed.failed, inputs.statements)
    job_directories = owners.directories(held, retained)
    writers = owners.writers(jobs, job_directories, roots)
    owned = statements.with_dead(
        owners.owners(writers, shared_before, before["storage_remembered"]),
        dead,
        job_directories,
    )
    sole = owners.sole_writers(owned)
    restores = owners.restores(jobs)

    of_jobs = checkpoints.owned(
        checkpoints.with_figures(retained, sums.by_number("figures", "checkpoint_no")), owned
    )
    remembered = carried.remembered(before["storage_remembered"], owned, retained)
    audit_ids = dict.fromkeys(root["audit_id"] for root in roots)
    unsettled, settled = (
        owners.earlier_restores(before[RESTORES], jobs, audit_ids, settled=is_settled)
        for is_settled in (False, True)
    )
    all_restores = [*restores, *unsettled]
    weaned, weaned_settled = (
        checkpoints.weaned_restores(of_jobs, restored, sole, remembered)
        for restored in (all_restores, settled)
    )
    judged = checkpoints.judged(
        of_jobs,
        weaned,
        roots,
        checkpoints.written_at(metadata),
        dead.since,
        doubts.copied_snapshots(retained),
    )
    chains = _chains(sums, jobs_of.keys, roots)
    known_metadata = plain_rows(engine.collect(of_paths["known_metadata"]))
    unread_rows = sums.rows("unread_checkpoints")
    read_now = keys(retained, "audit_id", "metadata_path")
    unread = history.unread(unread_rows, metadata, read_now, known_metadata, jobs, sole, roots)
    unfound = checkpoints.last_unfound(of_jobs, weaned, jobs, sole, remembered)
    elsewhere = history.elsewhere(unread_rows, unread, sums.rows("vanished_checkpoints"))
    family = lineage.Family(jobs, all_restores, chains, sole, unfound, set(dead.since), held)
    others = missed.foreign | acknowledged
    needed, all_needed = lineage.needed_jobs(
        [row for row in (*metadata, *elsewhere) if (row["audit_id"], row["path"]) not in others],
        replace(family, restores=restores),
        roots,
    )
    # The origins of jobs of an unseen cluster are unknown.
    all_needed |= {root["audit_id"] for root in roots if root["any_unreachable"]}
    whole = doubts.listed_whole(inputs.doubts, roots)
    used = keys((owner for owner in owned if owner["suspects"]), "audit_id", "job_directory")
    alike = _alike(engine, of_paths, sums, held, roots, whole, used, excluded)
    newest = doubts.newest_checkpoints(writers, retained)
    reaches = Reaches(lineage.Origins(family), dead.since)
    unread_doubts = doubts.of_completed(missed.doubts, owned, metadata)
    all_doubts = doubts.distinct(
        [
            *doubts.of_listing(inputs.doubts, roots, reaches),
            *doubts.of_metadata(unread_doubts, reaches, acknowledged),
            *doubts.void_attestations(dead.void),
            *doubts.unknown_authorities(sums.rows("outside"), roots),
            *doubts.of_other_spellings(alike.spellings),
            *doubts.of_twins(alike.twins, alike.copied),
            *doubts.same_metadata(retained, alike.copied),
            *doubts.restored_from_gone(restores, retained, newest, roots, reaches),
            *doubts.restored_from_unknown(jobs, newest),
            *doubts.writes_elsewhere(jobs, job_directories, roots, reaches),
            *doubts.no_checkpoint_found(jobs, restores, writers, newest, roots, reaches),
        ]
    )
    index = Index(held)
    reached_by = [index.reached(doubt["audit_id"], doubt["reach"]) for doubt in all_doubts]
    known = directories.Known(
        owned,
        needed,
        all_needed,
        set().union(*reached_by),
        unfound,
        lineage.needed_by_unfound(family, keys(retained, "audit_id", "directory")),
        lost_before,
    )
    of_directories = directories.judged_directories(held, roots, known)
    parts = {"files": of_paths["files"], "unread": of_paths["unread"], **alike.parts}
    facts = {
        "directories": table_of(of_directories, verdicts.DIRECTORIES),
        "restored": _keyed(checkpoints.restored_directories(weaned), "directory"),
        "excluded": _keyed(excluded, "directory"),
        "gone": _keyed(missed.vanished, "metadata_path"),
        "vanished": _keyed(unread.vanished, "metadata_path"),
        "gone_before": _keyed(unread.gone, "metadata_path"),
    }

    def run(step: Step, schemas: Mapping[str, pa.Schema]) -> dict[str, Rows]:
        live = (row | {"is_live": row["verdict"] == LIVE} for row in judged)
        of_checkpoints = {"checkpoints": table_of(live, verdicts.CHECKPOINTS)}
        group_keys = ("path",) if alike.parts else None
        return engine.run(step, parts, schemas, group_keys, facts | of_checkpoints)

    if any(row["verdict"] != LIVE for row in judged):
        namers = run(verdicts.find_namers, {"namers": verdicts.NAMERS})["namers"]
        judged = checkpoints.with_namers(judged, engine.collect(namers).to_pylist())
    files = run(verdicts.judged_files, verdicts.SCHEMAS)
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
        homes.keys[number]: row for number, row in sums.by_number("reached", "home_no").items()
    }
    tables = {
        "storage_root": totals.of_roots(
            cube,
            of_directories,
            judged,
            lost,
            all_doubts,
            reached_by,
            missed.of_root,
            roots,
        ),
        "storage_verdict": totals.of_verdicts(cube, of_directories),
        "storage_job": totals.of_jobs(cube, of_directories, judged, reached, owned),
        "storage_checkpoint": rows,
        "storage_operator_state": operator_states.of_checkpoints(
            engine.collect(read["operators"]).to_pylist(), rows
        ),
        "storage_chain": lineage.chain_rows(chains, restores, sole, roots),
        "storage_doubt": doubts.doubt_rows(
            all_doubts, reached_by, totals.withheld_by_doubt(cube, of_directories)
        ),
    }
    named = {name: table_of(of, arrow_schema(AUDIT_TABLES[name])) for name, of in tables.items()}
    named["storage_missing"] = _missing(
        sums.table("missing"), judged, checkpoints.superseded(judged, restores), roots
    )
    shared_now = keys((owner for owner in owned if owner["shared"]), "job_directory")
    as_of = max(root["as_of"] for root in roots)
    state = {
        "storage_listed": carried.roots_listed(before["storage_listed"], roots),
        "storage_lost": _directories(lost_before, lost_now),
        "storage_shared": _directories(shared_before, shared_now),
        "storage_remembered": remembered,
        RESTORES: carried.restores(weaned, weaned_settled, as_of),
    }
    needed_ids = [*sorted({job_id for _, job_id in needed}), *([None] if all_needed else [])]
    return Judged(
        live=files["storage_live"],
        not_live=files["not_live"],
        references=read["storage_reference"],
        absent=[of_paths["storage_absent"]],
        pending=[of_paths["storage_pending"], files["storage_pending"]],
        state={name: table_of(rows, carried.STATES[name][0]) for name, rows in state.items()}
        | {NEEDED: pa.table({"job_id": pa.array(needed_ids, pa.string())})},
        tables={name: named[name] for name in AUDIT_TABLES},
    )


class _Numbered:
    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}

    def of(self, key: Key) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    @property
    def keys(self) -> list[Key]:
        return list(self._numbers)


_SUM_KEYS = {
    "held": ("root_no", "job_directory", "job_id"),
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
"""Partial results of several calls of a step, and the columns by which they are added up."""


def _add_up(parts: Tables, known: Tables) -> dict[str, pa.Table]:
    return {
        name: (
            reference_sums.first_missing(rows)
            if name == "missing"
            else summed(rows, _SUM_KEYS[name], ("metadata_path",), ("newest",))
        ).select(path_facts.SCHEMAS[name].names)
        for name, rows in parts.items()
    }


def _add_up_cube(parts: Tables, known: Tables) -> dict[str, pa.Table]:
    return {"cube": summed(parts["cube"], totals.CUBE_KEY)}


class _Sums:
    def __init__(self, engine: Engine, parts: Mapping[str, Rows]) -> None:
        self._engine = engine
        self._sums = engine.run(
            _add_up,
            {name: parts[name] for name in _SUM_KEYS},
            path_facts.SCHEMAS,
            _SUM_KEYS,
        )

    def table(self, name: str) -> pa.Table:
        return self._engine.collect(self._sums[name])

    def rows(self, name: str) -> list[Row]:
        rows: list[Row] = self.table(name).to_pylist()
        return rows

    def by_number(self, name: str, number: str) -> dict[int, Row]:
        return {row.pop(number): row for row in self.rows(name)}


def _numbered_checkpoints(
    retained: Iterable[Row],
    previous: Mapping[int, int],
    roots: Iterable[Row],
    homes: _Numbered,
    jobs: _Numbered,
) -> list[Row]:
    as_of = {
        audit_id: min(root["as_of"] for root in of)
        for (audit_id,), of in by(roots, "audit_id").items()
    }
    return [
        row
        | {
            "is_covered": row["modified"] is not None and row["modified"] < as_of[row["audit_id"]],
            "previous_no": previous.get(number, -1),
            "job_no": jobs.of((row["audit_id"], row["job_directory"], row["job_id"])),
            "home_no": -1
            if row["is_savepoint"] or row["job_directory"] is None
            else homes.of((row["audit_id"], row["root"], row["job_directory"])),
        }
        for number, row in enumerate(retained)
    ]


@dataclass(frozen=True)
class _Alike:
    parts: Mapping[str, Rows]
    """``alike``, files that another name may mean, if any."""
    spellings: Sequence[Row] = ()
    twins: Sequence[Row] = ()
    copied: Set[Key] = frozenset()
    """(audit_id, job directory, other one), one a copy of the other."""


def _alike(
    engine: Engine,
    of_paths: Mapping[str, Rows],
    sums: _Sums,
    held: Sequence[Row],
    roots: Sequence[Row],
    is_whole: Sequence[bool],
    used: Set[Key],
    excluded: Set[Key],
) -> _Alike:
    """Usually all references are found, and each job has one directory: nothing is compared."""
    in_job = [row for row in held if row["job_id"] is not None]
    spread = [
        dict(zip(("audit_id", "job_id"), key, strict=True))
        for key, of in by(in_job, "audit_id", "job_id").items()
        if len({row["job_directory"] for row in of}) > 1
    ]
    not_found = sums.table("not_found_of")
    if not spread and not not_found.num_rows:
        return _Alike({})
    ends = engine.run(
        aliases.ends_of_paths,
        {name: of_paths[name] for name in ("files", "not_found", "unread")},
        aliases.ENDS,
        side_tables={"spread": table_of(spread, aliases.SPREAD), "not_found": not_found},
    )
    in_use = used | keys(engine.collect(ends.pop("used")).to_pylist(), "audit_id", "job_directory")
    set_apart = {
        (row["audit_id"], row["job_directory"])
        for row in in_job
        if any(
            row["audit_id"] == of and is_below(row["job_directory"], place)
            for of, place in excluded
        )
    } - in_use
    alike = engine.run(
        aliases.alike,
        ends,
        aliases.SCHEMAS,
        ("end",),
        {
            "roots": table_of([{"is_whole": whole} for whole in is_whole], aliases.ROOTS),
            "used": _keyed(in_use, "job_directory"),
            "set_apart": _keyed(set_apart, "job_directory"),
        },
    )
    spellings = engine.collect(alike["spellings"]).to_pylist()
    pairs = summed(engine.collect(alike["twins"]), aliases.PAIR, ("path",)).to_pylist()
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
    return _Alike({"alike": alike["alike"]} if spellings or twins else {}, spellings, twins, copied)


def _chains(sums: _Sums, jobs: Sequence[Key], roots: Sequence[Row]) -> list[Row]:
    """References of jobs to files of other jobs; ``job_id`` and ``job_directory`` are null for
    savepoints.
    """
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
    return table_of(rows, pa.schema([("audit_id", pa.string()), (name, pa.string())]))


def _missing(
    missing: pa.Table, judged: Sequence[Row], superseded: set[Key], roots: Sequence[Row]
) -> pa.Table:
    at = pa.array(missing.column("checkpoint_no").to_numpy().astype(np.int64))
    root = pa.array([root["root"] for root in roots], pa.string()).take(
        missing.column("root_no").combine_chunks()
    )
    of = {
        name: pa.array([row[name] for row in judged], pa.string()).take(at)
        for name in checkpoints.CHECKPOINT
    }
    later = pa.array(
        [key_of(row, checkpoints.CHECKPOINT) in superseded for row in judged], pa.bool_()
    ).take(at)
    columns = of | {
        "root": root,
        "path": missing.column("path"),
        "bytes": missing.column("bytes"),
        "superseded": later,
    }
    schema = arrow_schema(AUDIT_TABLES["storage_missing"])
    return pa.table([columns[name] for name in schema.names], schema=schema)
