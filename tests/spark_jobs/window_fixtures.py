"""``python -m tests.spark_jobs.window_fixtures``: renew the job windows that rules are tested
against, from the recordings.
"""

import gzip
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from spark_jobs.diagnosis.plain import window_to_plain
from spark_jobs.jobs.windows import windows_of
from spark_jobs.session import open_session
from tests.windows import FOLDER

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
