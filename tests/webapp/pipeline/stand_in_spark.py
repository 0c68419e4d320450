"""Keeps the contract of the job ``cycle``: one completed fact for every checkpoint in the new
commits.

The state that it leaves is the list of them, and the next one needs it. What it tells is kept in
the lake, unless ``$WEIR_HOME/no-keep`` says that it is killed before that. As ``rollups`` it counts
what is kept of each hour. While ``$WEIR_HOME/hold`` exists it waits before it writes, having noted
its process id in ``$WEIR_HOME/began``; of roll-ups these are ``hold-rollups`` and
``began-rollups``.
"""

import json
import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq

from ingest.lake.environment import lake_place
from ingest.lake.reader import LakeReader
from spark_jobs import manifest as manifests
from spark_jobs import previous_run, progress
from spark_jobs.kept_facts import TABLE, keep
from spark_jobs.manifest import Manifest
from tests.webapp.pipeline.runs import fact, row, write_run


def run_job(words: Sequence[str]) -> int:
    arguments = dict(zip(words[1::2], words[2::2], strict=True))
    return rollups(arguments) if words[0] == "rollups" else cycle(arguments)


def cycle(arguments: dict[str, str]) -> int:
    home, run_dir = Path(os.environ["WEIR_HOME"]), Path(arguments["--run-dir"])
    carried = (
        previous_run.read(arguments["--previous"], json.loads(arguments["--previous-to"]))
        if "--previous" in arguments
        else None
    )
    lake, previous = LakeReader(*lake_place(arguments["--lake"])), carried.to_seq if carried else {}
    if carried:
        keep(lake, carried)
    to = json.loads(arguments["--to"])
    begin(home, "")
    after = previous.get("checkpoints", 0)
    files = lake.files("checkpoints", after_seq=after, up_to_seq=to["checkpoints"])
    read = [row for file in files for row in pq.read_table(file.uri, partitioning=None).to_pylist()]
    rows = [row for row in read if after < row["commit_seq"] <= to["checkpoints"]]
    newest = {
        (row["cluster"], row["job_id"], row["checkpoint_id"], row["trigger_time"]): row
        for row in rows
    }
    facts = [
        fact(
            row["checkpoint_id"],
            cluster=row["cluster"],
            job_id=row["job_id"],
            trigger_time=row["trigger_time"],
            as_of=row["observed_at"],
        )
        for row in newest.values()
    ]
    with previous_run.lost_if_damaged(carried):
        state = sorted({fact["checkpoint_id"] for fact in facts} | remembered(carried))
    path = write_run(
        run_dir,
        {"checkpoint_fact": facts},
        from_=previous,
        to=to,
        attempt=arguments["--attempt"],
        state={"facts": state},
    )
    if not (home / "no-keep").exists():
        keep(lake, manifests.read(path))
    return 0


def rollups(arguments: dict[str, str]) -> int:
    begin(Path(os.environ["WEIR_HOME"]), "-rollups")
    start, end = int(arguments["--from"]), int(arguments["--to"])
    files = LakeReader(*lake_place(arguments["--lake"])).files(TABLE, up_to_seq=end)
    read = [row for file in files for row in pq.read_table(file.uri, partitioning=None).to_pylist()]
    keys = {
        (row["cluster"], row["job_id"], row["checkpoint_id"], row["trigger_time"]): row[
            "observed_at"
        ]
        for row in read
    }
    hours: dict[tuple[str, str, datetime], list[datetime]] = {}
    for (cluster, job_id, _, trigger), as_of in keys.items():
        hours.setdefault(
            (cluster, job_id, trigger.replace(minute=0, second=0, microsecond=0)), []
        ).append(as_of)
    counted = [
        row(
            "checkpoint_rollup",
            cluster=cluster,
            job_id=job_id,
            period="hour",
            period_start=hour,
            completed_count=len(as_of),
            as_of=max(as_of),
        )
        for (cluster, job_id, hour), as_of in hours.items()
    ]
    write_run(
        Path(arguments["--run-dir"]),
        {"checkpoint_rollup": counted},
        from_={TABLE: start},
        to={TABLE: end},
        attempt=arguments["--attempt"],
    )
    return 0


def begin(home: Path, of: str) -> None:
    (home / f"began{of}").write_text(str(os.getpid()))
    progress.say("stand-in began")
    while (home / f"hold{of}").exists():
        time.sleep(0.05)


def remembered(carried: Manifest | None) -> set[int]:
    files = [f"{carried.run_dir}/{file}" for file in carried.state["facts"]] if carried else []
    return {
        number
        for file in files
        for number in pq.read_table(file, page_checksum_verification=True).column("id").to_pylist()
    }
