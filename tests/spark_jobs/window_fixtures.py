"""``python -m tests.spark_jobs.window_fixtures``: renew the job windows that rules are tested
against, from the recordings.
"""

import gzip
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from ingest.lake.reader import LakeReader
from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.jobs.recompute import Recompute
from spark_jobs.lake import pin
from spark_jobs.paths import hadoop_path
from spark_jobs.run_files import RunFiles
from spark_jobs.session import open_session
from spark_jobs.transforms import folding
from spark_jobs.transforms.fold_batches import fold_group, job_groups
from tests.windows import FOLDER, window_to_plain

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"

Lines = dict[str, list[str]]


def recordings() -> dict[str, Path]:
    """By ``version-scenario``."""
    folders = sorted(scenario.parent for scenario in RECORDINGS.glob("*/*/scenario.json"))
    return {"-".join(folder.parts[-2:]): folder for folder in folders}


def lines_of(session: SparkSession, scratch: Path, some: Mapping[str, Path]) -> Lines:
    """``version-scenario`` → its job windows as JSON lines."""
    lake, lines = Lake(str(scratch / "lake")), defaultdict(list)
    for name, folder in some.items():
        import_recording(folder, name, lake)
    for window in windows_of(session, lake, str(scratch / "run")):
        lines[window.cluster].append(
            json.dumps(window_to_plain(window), ensure_ascii=False, separators=(",", ":")) + "\n"
        )
    return dict(lines)


def windows_of(session: SparkSession, lake: LakeReader, scratch: str) -> Iterator[JobWindow]:
    """All job windows of a lake, by cluster, job and time."""
    recompute = Recompute(pin(session, lake), None, RunFiles(scratch))
    job_windows: list[JobWindow] = []
    folding.group_rows(recompute.parts).write.parquet(hadoop_path(f"{scratch}/in-order"))
    files = sorted(Path(scratch, "in-order").glob("*.parquet"))
    for group in job_groups(
        batch for file in files for batch in pq.ParquetFile(file).iter_batches()
    ):
        if group.key[1] is not None:
            result = fold_group(group, Settings())
            job_windows += result.windows if isinstance(result, JobResult) else ()
    yield from sorted(
        job_windows, key=lambda window: (window.cluster, window.job_id, window.window_start_ms)
    )


def main() -> int:
    session = open_session("weir window fixtures")
    with tempfile.TemporaryDirectory() as scratch:
        for name, lines in lines_of(session, Path(scratch), recordings()).items():
            FOLDER.mkdir(parents=True, exist_ok=True)
            # No time of writing inside: the same windows are the same file.
            (FOLDER / f"{name}.jsonl.gz").write_bytes(
                gzip.compress("".join(lines).encode(), mtime=0)
            )
            print(f"{name}: {len(lines)} windows")
    session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
