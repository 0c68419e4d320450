"""Incidents that a real Flink played for the lab (``tests/fixtures/incidents``): what Weir finds, and Flink's raw answers beside it.

What is asked of is ``<version>/<incident>``, or ``<version>/<incident>:<job name>`` where several jobs were played side by side.
"""

import gzip
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from spark_jobs import manifest as manifests
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import RunFiles
from spark_jobs.run_rows import rows_of
from spark_jobs.serving import FINDING_SIGHT
from spark_jobs.small.cycle import SmallCycle
from spark_jobs.small.rows import SmallLake

FOLDER = Path(__file__).parent / "fixtures" / "incidents"
CLUSTER = "lab"


class Answer(NamedTuple):
    """What Flink answered at a time (seconds since 1970); ``found`` are the groups of the pattern it was asked for by."""

    at: float
    found: tuple[str, ...]
    body: Any


@cache
def _judged(played: str) -> tuple[dict[str, Any], ...]:
    """What a run of the cycle in this process leaves."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(f"{folder}/lake")
        import_recording(FOLDER / played, CLUSTER, lake)
        versions = {table: lake.version(table) for table in CYCLE_TABLES}
        run_dir = RunFiles(f"{folder}/run")
        cycle = SmallCycle(SmallLake(lake, versions, most_rows=1_000_000), None, run_dir)
        list(cycle.steps())
        at = datetime.now(UTC)
        left = Manifest("cycle", "played", cycle.from_seq, versions, run_dir.outputs, run_dir.state, at, at, run_dir.retracted)
        manifest = manifests.read(manifests.write(left, run_dir.uri))
        batches = rows_of(manifest, FINDING_SIGHT.name, FINDING_SIGHT.column_names, 1000)
        rows = [row for batch in batches for row in batch.to_pylist()]
    parsed = (row | {name: _parsed(row[name]) for name in ("evidence", "related", "data")} for row in rows)
    return tuple(sorted(parsed, key=lambda row: (row["window_start"], row["rule"], row["subject_id"])))


def of_rule(played: str, rule: str) -> list[dict[str, Any]]:
    return [one for one in sights(played) if one["rule"] == rule]


def sights(played: str) -> list[dict[str, Any]]:
    """All findings, in order of their windows."""
    folder, _, job = played.partition(":")
    return [one for one in _judged(folder) if job in ("", one["job_name"])]


def evidence(sight: dict[str, Any], name: str) -> Any:
    """The value of its evidence of this name."""
    (value,) = [one["value"] for one in sight["evidence"] if one["name"] == name]
    return value


def answers(played: str, path: str) -> Iterator[Answer]:
    """Flink's good answers whose path matches the whole pattern, in order of time."""
    folder, _, job = played.partition(":")
    below = f"/jobs/{_job_ids(folder)[job]}" if job else ""
    for told in _told(folder):
        if told["status"] == 200 and told["path"].startswith(below) and (matched := re.fullmatch(path, told["path"])):
            yield Answer(told["ts"], matched.groups(), told["body"])


def vertices(played: str) -> dict[str, str]:
    """Name → id, as Flink names them."""
    *_, last = answers(played, "/jobs/[0-9a-f]{32}")
    return {vertex["name"]: vertex["id"] for vertex in last.body["vertices"]}


@cache
def _told(folder: str) -> tuple[dict[str, Any], ...]:
    with gzip.open(FOLDER / folder / "rest.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(map(json.loads, lines))


def _job_ids(folder: str) -> dict[str, str]:
    """Name → id of the jobs that Flink lists."""
    return {one["name"]: one["jid"] for told in _told(folder) if told["path"] == "/jobs/overview" for one in told["body"]["jobs"]}


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
