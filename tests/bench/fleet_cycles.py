"""One cycle over a large fleet with a long history: the lake and what is remembered are made, the
cycle runs as in production.

That is on a server that has run cycles before, as `make run` keeps one.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.store import Lake
from spark_jobs import manifest as manifests
from spark_jobs.nested_tables import JOB, unnest
from spark_jobs.run_files import RunFiles
from spark_jobs.serving import (
    CHECKPOINT_FACT,
    JOB_CURRENT,
    JOB_JUDGEMENT,
    PRESSURE_WINDOW,
    SKIPPED_INPUT,
    ServingTable,
)
from tests.bench.fleet_history import state_after, write_previous_run
from tests.bench.fleet_lake import append_history, append_minute
from tests.bench.generated_fleet import Fleet
from tests.bench.process_cpu import most_resident, servers
from tests.bench.processes import Used, used
from tests.spark_processes import connect_server, run_cycle

VERTICES, SUBTASKS = 20, 8
WEEK_H, MONTH_H = 7 * 24, 30 * 24
WARMING, WARMING_JOBS, WARMING_H = 3, 1_000, 4
"""Cycles of other fleets before: Spark compiles what is used often in the course of some."""


@dataclass(frozen=True)
class Ready:
    """A fleet whose last minute no cycle has seen.

    Cycles leave the lake as it is, so that any number may run.
    """

    folder: Path
    fleet: Fleet
    previous: str


def cycle(folder: Path, jobs: int, hours: int) -> Used:
    """A minute of news of all jobs after so many hours, on two cores of a server that is warm."""
    ((found,),) = cycles(folder, [(jobs, hours)])
    return found


def cycles(folder: Path, fleets: Sequence[tuple[int, int]], rounds: int = 1) -> list[list[Used]]:
    """For each (jobs, hours) its cycles, one a round: those compared take turns on one server, so
    that what disturbs one disturbs all.
    """
    server = folder / "spark"
    with connect_server(server) as remote:
        for number in range(WARMING):
            _cycle(ready(folder / f"warming-{number}", WARMING_JOBS, WARMING_H), 0, server, remote)
        fleets_ready = [
            ready(folder / f"measured-{number}", *of) for number, of in enumerate(fleets)
        ]
        by_round = [
            [_cycle(one, number, server, remote) for one in fleets_ready]
            for number in range(rounds)
        ]
    return [list(of_fleet) for of_fleet in zip(*by_round, strict=True)]


def ready(
    folder: Path, jobs: int, hours: int, vertices: int = VERTICES, subtasks: int = SUBTASKS
) -> Ready:
    fleet = Fleet(jobs, vertices, subtasks)
    lake = Lake(str(folder / "lake"))
    append_history(lake, fleet, hours)
    to_seq = {table: lake.version(table) for table in CYCLE_TABLES}
    previous = write_previous_run(folder / "earlier", fleet, state_after(fleet, 60 * hours), to_seq)
    append_minute(lake, fleet, 60 * hours)
    return Ready(folder, fleet, previous)


def _cycle(of: Ready, number: int, server: Path, remote: str) -> Used:
    run_dir, attempt = of.folder / f"run-{number}", f"{of.folder.name}-{number}"
    started = time.monotonic()
    client = run_cycle(
        of.folder / "lake", run_dir, attempt, {"SPARK_REMOTE": remote}, "--previous", of.previous
    )
    with client, ThreadPoolExecutor(1) as reader:
        said = reader.submit(client.stdout.read if client.stdout else str)
        found = used(client, started, beside=servers(server))
    found = replace(found, driver_bytes=found.driver_bytes + most_resident(server))
    assert client.returncode == 0, said.result()
    check(run_dir, of.fleet)
    return found


def check(run_dir: Path, fleet: Fleet) -> None:
    """Every job has one new fact, its present, a judged window, and a pressure window of all
    subtasks for each vertex.
    """
    run = manifests.read(str(run_dir / "manifest.json"))
    assert run.tables[SKIPPED_INPUT.name].rows == 0, "some jobs were left out"
    for table, rows in (
        (CHECKPOINT_FACT, 1),
        (JOB_CURRENT, 1),
        (JOB_JUDGEMENT, 1),
        (PRESSURE_WINDOW, fleet.vertices),
    ):
        told = _told(run_dir, run.tables[table.name].files, table)
        assert told.num_rows == fleet.jobs * rows, f"{told.num_rows} rows of {table.name}"
        assert len(told.group_by(list(JOB)).aggregate([])) == fleet.jobs, f"{table.name} lacks jobs"
        if table is PRESSURE_WINDOW:
            assert pc.all(pc.equal(told["parallelism"], fleet.subtasks)).as_py(), (
                "a window lacks subtasks"
            )


def _told(run_dir: Path, files: tuple[str, ...], table: ServingTable) -> pa.Table:
    """The columns that are looked at, of all rows."""
    wanted = [*JOB, "parallelism"] if table is PRESSURE_WINDOW else [*JOB]
    batches = RunFiles(str(run_dir)).read(files, [*JOB, table.name])
    return pa.Table.from_batches([unnest(batch, table).select(wanted) for batch in batches])
