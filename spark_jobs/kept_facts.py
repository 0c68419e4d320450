"""Keeps checkpoint facts of all cycle runs in the lake, for roll-ups. Runs are appended once, in
order. A run that reads the lake from its beginning starts a new chain and replaces all rows. Delta
transactions record the ``Progress``.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Transaction

from ingest.batches import filled
from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from ingest.lake.derived_commits import commit, write_rows
from ingest.lake.reader import LakeReader
from spark_jobs.manifest import BadManifest, Manifest
from spark_jobs.previous_run import PreviousLost
from spark_jobs.run_rows import retracted_of, rows_of
from spark_jobs.serving import REFUSAL_KIND

TABLE = CHECKPOINT_FACTS.name
FACT, EVENT = "checkpoint_fact", "log_event"

UNFINISHED = -1
ROWS_A_BATCH = 50_000
ROWS_A_PART = 500_000
"""A row takes some hundred bytes in memory."""

FAR_DAYS = 400
"""A trigger this far from its observation is wrong. Such triggers share a file a year instead of a
day.
"""

_KEY = ("cluster", "job_id", "checkpoint_id", "trigger_time")
_LINE = ("process", "record_hash", "ordinal")
_FACT_COLUMNS = tuple(
    name for name in CHECKPOINT_FACTS.columns.names if name not in ("line", "retracted")
)


class Progress(NamedTuple):
    """Versions of Delta transactions. ``cycle``: ``ends_at`` of the last run, or ``UNFINISHED``.
    ``run``: its number. ``part``: how many parts are stored. ``first``: number of the chain's first
    run.
    """

    cycle: int
    run: int
    part: int
    first: int


class Run(Protocol):
    @property
    def attempt(self) -> str: ...
    @property
    def from_seq(self) -> dict[str, int]: ...
    @property
    def to_seq(self) -> dict[str, int]: ...


def keep(lake: LakeReader, run: Manifest) -> int:
    """Appends a run's facts; returns the number of new rows, 0 if already kept. Raises PreviousLost
    if the table lacks an earlier run, or files are damaged.
    """
    if is_kept(taken(lake), run):
        return 0
    try:
        return sum(
            _commit(lake, run, number, rows, is_last)
            for number, (rows, is_last) in enumerate(_parts(run), start=1)
        )
    except BadManifest as error:
        raise PreviousLost(
            f"Checkpoint facts of run {run.attempt} cannot be kept: {error}"
        ) from error


def taken(lake: LakeReader) -> Progress:
    return Progress(*lake.transactions(TABLE, Progress._fields))


def ends_at(commits: dict[str, int]) -> int:
    """The commits of all tables as one number that grows from run to run."""
    return sum(commits.values())


def is_kept(stored: Progress, run: Run) -> bool:
    if stored.run == _number(run):
        return stored.cycle != UNFINISHED
    if ends_at(run.from_seq) == ends_at(run.to_seq):
        return True  # it read nothing
    if _is_from_start(run):
        return stored.first == _number(run)
    return stored.cycle == ends_at(run.to_seq)


def is_next(stored: Progress, run: Run) -> bool:
    return (
        stored.run == _number(run) or _is_from_start(run) or stored.cycle == ends_at(run.from_seq)
    )


def _is_from_start(run: Run) -> bool:
    return ends_at(run.from_seq) == 0


def _number(run: Run) -> int:
    name = f"{run.attempt} {ends_at(run.from_seq)} {ends_at(run.to_seq)}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])


def _commit(
    lake: LakeReader, run: Manifest, part: int, rows: Sequence[pa.RecordBatch], is_last: bool
) -> int:
    def write(delta: DeltaTable, version: int) -> int:
        versions = (delta.transaction_version(name) or 0 for name in Progress._fields)
        stored = Progress(*versions)
        stored_parts = stored.part if stored.run == _number(run) else 0
        if is_kept(stored, run) or part <= stored_parts:
            return 0
        if not is_next(stored, run) or part != stored_parts + 1:
            raise PreviousLost(f"Lake table {TABLE} lacks facts from before run {run.attempt}.")
        is_first = _is_from_start(run)
        cycle = ends_at(run.to_seq) if is_last else UNFINISHED
        first = _number(run) if is_first else stored.first
        progress = Progress(cycle, _number(run), part, first)
        return _write(delta, rows, version, progress, replaces=is_first and part == 1)

    return commit(lake, TABLE, write)


def _write(
    delta: DeltaTable,
    rows: Sequence[pa.RecordBatch],
    version: int,
    progress: Progress,
    replaces: bool,
) -> int:
    schema = CHECKPOINT_FACTS.schema
    stamped = [filled(batch, schema, {"commit_seq": version}) for batch in rows]
    write_rows(
        delta,
        pa.Table.from_batches(stamped, schema).sort_by(
            [(name, "ascending") for name in CHECKPOINT_FACTS.sort_by]
        ),
        mode="overwrite" if replaces else "append",
        app_transactions=[Transaction(name, value) for name, value in progress._asdict().items()],
    )
    return sum(batch.num_rows for batch in rows)


def _parts(run: Manifest) -> Iterator[tuple[list[pa.RecordBatch], bool]]:
    pending: list[pa.RecordBatch] = []
    for batch in _rows(run):
        if pending and sum(part.num_rows for part in pending) + batch.num_rows > ROWS_A_PART:
            yield pending, False
            pending = []
        pending.append(batch)
    yield pending, True


def _rows(run: Manifest) -> Iterator[pa.RecordBatch]:
    retracted = (
        _kept_rows(run, batch, retracted=True)
        for batch in retracted_of(run, FACT, _KEY, ROWS_A_BATCH)
    )
    facts = (
        _kept_rows(run, batch)
        for batch in rows_of(run, FACT, (*_FACT_COLUMNS, "cluster", "as_of"), ROWS_A_BATCH)
    )
    lines = rows_of(
        run,
        EVENT,
        ("cluster", "job_id", "checkpoint_id", "ts", *_LINE, "kind", "as_of"),
        ROWS_A_BATCH,
    )
    refusals = (_kept_rows(run, _refusals(batch)) for batch in lines)
    return (batch for batch in chain(retracted, facts, refusals) if batch.num_rows)


def _refusals(lines: pa.RecordBatch) -> pa.RecordBatch:
    """Refused triggers without a checkpoint id, which have no fact."""
    is_refusal = pc.and_(
        pc.equal(lines["kind"], REFUSAL_KIND),
        pc.and_(pc.is_null(lines["checkpoint_id"]), pc.is_valid(lines["job_id"])),
    )
    lines = lines.filter(is_refusal)
    return pa.RecordBatch.from_pydict(
        {
            **{name: lines[name] for name in ("cluster", "job_id", "checkpoint_id", "as_of")},
            "trigger_time": lines["ts"],
            "line": pc.binary_join_element_wise(
                *(lines[name].cast(pa.string()) for name in _LINE), "/"
            ),
            "outcome": pa.repeat(REFUSED, lines.num_rows),
            "final": pa.repeat(True, lines.num_rows),
        }
    )


def _kept_rows(run: Manifest, rows: pa.RecordBatch, retracted: bool = False) -> pa.RecordBatch:
    observed_at = rows["as_of"] if "as_of" in rows.schema.names else None
    values = {
        "observed_at": observed_at,
        "source": run.attempt,
        "retracted": retracted,
        "date": _day(rows["trigger_time"], observed_at),
    }
    # Spark and hand-written runs differ in the precision of instants; the lake has milliseconds.
    return filled(rows, CHECKPOINT_FACTS.schema, values, safe=False)


def _day(triggered: pa.Array, observed: pa.Array | None) -> pa.Array:
    day = triggered.cast(pa.date32(), safe=False)
    if observed is None:
        return day
    observed_day = pc.coalesce(observed.cast(pa.date32(), safe=False), day)
    is_far = pc.greater(pc.abs(pc.days_between(observed_day, day)), FAR_DAYS)
    return pc.if_else(is_far, pc.floor_temporal(day, unit="year"), day)
