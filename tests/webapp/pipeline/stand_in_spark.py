"""Keeps the contract of ``python -m spark_jobs cycle``: one completed fact for every checkpoint in the new commits.

While ``$WEIR_HOME/hold`` exists it waits before it writes, having noted its process id in ``$WEIR_HOME/began``.
"""

import json
import os
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

from ingest.lake.environment import lake_of
from tests.webapp.pipeline.runs import fact, write_run


def main() -> int:
    arguments = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
    home, run_dir = Path(os.environ["WEIR_HOME"]), Path(arguments["--run-dir"])
    previous = json.loads(Path(arguments["--previous"]).read_text())["to"] if "--previous" in arguments else {}
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
    write_run(run_dir, {"checkpoint_fact": facts}, from_=previous, to=to, attempt=arguments["--attempt"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
