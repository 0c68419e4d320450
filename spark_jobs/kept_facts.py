"""Checkpoint facts of runs, kept in the lake, for roll-ups of late facts. Each run is appended
once, in the order of the chain. Delta transactions record the progress: ``cycle``: the commits at
which the last run ended, as their sum, ``UNFINISHED`` while parts are missing; ``run``, ``part``:
that run and its number of parts so far; ``first``: the first run of the chain. A run that reads the
lake from its beginning replaces all rows.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake

from ingest.lake.commit_attempts import commit_attempts
from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from ingest.lake.derived_commits import staged_commit
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
"""Some hundred bytes each in memory."""

FAR_DAYS = 400
"""A trigger this far from its observation is false; each day would be a separate file."""

_KEY = ("cluster", "job_id", "checkpoint_id", "trigger_time")
_LINE = ("process", "record_hash", "ordinal")
_OF_FACT = tuple(
    column.name for column in CHECKPOINT_FACTS.columns if column.name not in ("line", "retracted")
)


class Taken(NamedTuple):
    cycle: int
    run: int
    part: int
    first: int


class Run(Protocol):
    """A run of the cycle, from its manifest or the database."""

    @property
    def attempt(self) -> str: ...
    @property
    def from_seq(self) -> dict[str, int]: ...
    @property
    def to_seq(self) -> dict[str, int]: ...


def keep(lake: LakeReader, run: Manifest) -> int:
    """Append a complete run; returns the number of rows, 0 if it is already there. Raises
    :class:`PreviousLost` if the table lacks the runs before it, or its files are damaged.
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


def taken(lake: LakeReader) -> Taken:
    return Taken(*lake.transactions(TABLE, Taken._fields))


def ends_at(commits: dict[str, int]) -> int:
    return sum(commits.values())


def is_kept(there: Taken, run: Run) -> bool:
    if there.run == _number(run):
        return there.cycle != UNFINISHED
    is_there = (
        there.first == _number(run) if _is_from_start(run) else there.cycle == ends_at(run.to_seq)
    )
    return is_there or ends_at(run.from_seq) == ends_at(run.to_seq)


def is_next(there: Taken, run: Run) -> bool:
    return there.run == _number(run) or _is_from_start(run) or there.cycle == ends_at(run.from_seq)


def _is_from_start(run: Run) -> bool:
    return ends_at(run.from_seq) == 0


def _number(run: Run) -> int:
    name = f"{run.attempt} {ends_at(run.from_seq)} {ends_at(run.to_seq)}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])


def _commit(
    lake: LakeReader, run: Manifest, part: int, rows: Sequence[pa.RecordBatch], is_last: bool
) -> int:
    for attempt in commit_attempts():
        with attempt, staged_commit(lake, TABLE) as (delta, version):
            there = Taken(*(delta.transaction_version(name) or 0 for name in Taken._fields))
            if is_kept(there, run) or (there.run == _number(run) and part <= there.part):
                return 0
            if not is_next(there, run) or part != (
                there.part + 1 if there.run == _number(run) else 1
            ):
                raise PreviousLost(f"Lake table {TABLE} lacks facts from before run {run.attempt}.")
            begins = _is_from_start(run)
            cycle = ends_at(run.to_seq) if is_last else UNFINISHED
            now = Taken(cycle, _number(run), part, _number(run) if begins else there.first)
            return _write(delta, rows, version, now, replaces=begins and part == 1)
    raise AssertionError("unreachable: Retrying either returns or raises")


def _write(
    delta: DeltaTable, rows: Sequence[pa.RecordBatch], version: int, now: Taken, replaces: bool
) -> int:
    schema = CHECKPOINT_FACTS.schema
    stamped = [
        batch.set_column(schema.get_field_index("commit_seq"), "commit_seq", _all(version, batch))
        for batch in rows
    ]
    transactions = [Transaction(name, value) for name, value in now._asdict().items()]
    write_deltalake(
        delta,
        pa.Table.from_batches(stamped, schema).sort_by(
            [(name, "ascending") for name in CHECKPOINT_FACTS.sort_by]
        ),
        mode="overwrite" if replaces else "append",
        writer_properties=WriterProperties(compression="ZSTD"),
        commit_properties=CommitProperties(max_commit_retries=0, app_transactions=transactions),
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
    gone = (
        _row(run, batch, retracted=True) for batch in retracted_of(run, FACT, _KEY, ROWS_A_BATCH)
    )
    facts = (
        _row(run, batch)
        for batch in rows_of(run, FACT, (*_OF_FACT, "cluster", "as_of"), ROWS_A_BATCH)
    )
    lines = rows_of(
        run,
        EVENT,
        ("cluster", "job_id", "checkpoint_id", "ts", *_LINE, "kind", "as_of"),
        ROWS_A_BATCH,
    )
    refused = (_row(run, _refusals(batch)) for batch in lines)
    return (batch for batch in chain(gone, facts, refused) if batch.num_rows)


def _refusals(lines: pa.RecordBatch) -> pa.RecordBatch:
    is_refusal = pc.and_(
        pc.equal(lines["kind"], REFUSAL_KIND),
        pc.and_(pc.is_null(lines["checkpoint_id"]), pc.is_valid(lines["job_id"])),
    )
    reported = lines.filter(is_refusal)
    return pa.RecordBatch.from_pydict(
        {
            **{name: reported[name] for name in ("cluster", "job_id", "checkpoint_id", "as_of")},
            "trigger_time": reported["ts"],
            "line": pc.binary_join_element_wise(
                *(reported[name].cast(pa.string()) for name in _LINE), "/"
            ),
            "outcome": _all(REFUSED, reported),
            "final": _all(True, reported),
        }
    )


def _row(run: Manifest, reported: pa.RecordBatch, retracted: bool = False) -> pa.RecordBatch:
    columns = {name: reported[name] for name in reported.schema.names}
    columns |= {
        "observed_at": columns.get("as_of"),
        "source": _all(run.attempt, reported),
        "retracted": _all(retracted, reported),
    }
    columns["date"] = _day(columns["trigger_time"], columns["observed_at"])
    # Spark and hand-written runs differ in the precision of instants; the lake has milliseconds.
    made = [
        columns[field.name].cast(field.type, safe=False)
        if columns.get(field.name) is not None
        else pa.nulls(reported.num_rows, field.type)
        for field in CHECKPOINT_FACTS.schema
    ]
    return pa.RecordBatch.from_arrays(made, schema=CHECKPOINT_FACTS.schema)


def _day(trigger: pa.Array, observed: pa.Array | None) -> pa.Array:
    day = trigger.cast(pa.date32(), safe=False)
    if observed is None:
        return day
    apart = pc.abs(pc.days_between(pc.coalesce(observed.cast(pa.date32(), safe=False), day), day))
    return pc.if_else(pc.greater(apart, FAR_DAYS), pc.floor_temporal(day, unit="year"), day)


def _all(value: str | int | bool, batch: pa.RecordBatch) -> pa.Array:
    return pa.repeat(pa.scalar(value), batch.num_rows)
