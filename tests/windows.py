"""Job windows that Spark made of the recordings, as plain Python: what rules are tested against."""

import gzip
import json
from functools import cache
from pathlib import Path

from spark_jobs.diagnosis.plain import window_from_plain
from spark_jobs.diagnosis.samples import JobWindow

FOLDER = Path(__file__).parent / "fixtures" / "windows"


def recorded() -> list[str]:
    """Names of all recordings there are windows of: ``1.20.5-B``."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


@cache
def recorded_windows(name: str) -> tuple[JobWindow, ...]:
    """The windows of one recording, by job and time."""
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(window_from_plain(json.loads(line)) for line in lines)
