"""Keeps the contract of ``python -m spark_jobs cycle``: one completed fact for every checkpoint in the new commits.

The state that it leaves is the list of them, and the next one needs it.
While ``$WEIR_HOME/hold`` exists it waits before it writes, having noted its process id in ``$WEIR_HOME/began``.
"""

import json
import os
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

from ingest.lake.environment import lake_of
from spark_jobs import previous_run
from spark_jobs.manifest import Manifest
from tests.webapp.pipeline.runs import fact, write_run


def main() -> int:
    try:
        return cycle()
    except previous_run.PreviousLost as error:
        print(f"spark_jobs cycle: {error}", file=sys.stderr)
        return previous_run.LOST


def cycle() -> int:
    arguments = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
    home, run_dir = Path(os.environ["WEIR_HOME"]), Path(arguments["--run-dir"])
    carried = previous_run.read(arguments["--previous"], json.loads(arguments["--previous-to"])) if "--previous" in arguments else None
    previous = carried.to_seq if carried else {}
    to = json.loads(arguments["--to"])
    (home / "began").write_text(str(os.getpid()))
    print("stand-in began", flush=True)
    while (home / "hold").exists():
        time.sleep(0.05)
    after = previous.get("checkpoints", 0)
    files = lake_of(arguments["--lake"]).files("checkpoints", version=to["checkpoints"], after_seq=after)
    read = [row for file in files for row in pq.read_table(file.uri, partitioning=None).to_pylist()]
    rows = [row for row in read if after < row["commit_seq"] <= to["checkpoints"]]
    newest = {(row["cluster"], row["job_id"], row["checkpoint_id"], row["trigger_time"]): row for row in rows}
    facts = [
        fact(row["checkpoint_id"], cluster=row["cluster"], job_id=row["job_id"], trigger_time=row["trigger_time"], as_of=row["observed_at"])
        for row in newest.values()
    ]
    with previous_run.blamed_where_damaged(carried):
        state = sorted({fact["checkpoint_id"] for fact in facts} | remembered(carried))
    write_run(run_dir, {"checkpoint_fact": facts}, from_=previous, to=to, attempt=arguments["--attempt"], state={"facts": state})
    return 0


def remembered(carried: Manifest | None) -> set[int]:
    files = [f"{carried.run_dir}/{file}" for file in carried.state["facts"]] if carried else []
    return {number for file in files for number in pq.read_table(file, page_checksum_verification=True).column("id").to_pylist()}


if __name__ == "__main__":
    sys.exit(main())
