"""One incident as it was recorded every way at once (``tests/fixtures/fleet``), and what Weir finds
by each way of reading it.

``plain``: REST and log files in Flink's own layout. ``fleet``: REST, metrics of tasks from
Prometheus, logs as JSON inside CRI. ``alone``: Prometheus and those logs, the JobManager is not
asked.
"""

import asyncio
import gzip
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from ingest.flink_logs import tail
from ingest.lake.store import Lake
from ingest.prometheus.collector import read_metrics
from ingest.recordings.importer import import_recording
from ingest.sources import ClusterSource, LogSource, PrometheusSource
from spark_jobs.serving import FINDING_OCCURRENCE, JOB_JUDGEMENT
from tests.first_cycles import CLUSTER, cycled

FOLDER = Path(__file__).parent / "fixtures" / "fleet"
Way = Literal["plain", "fleet", "alone"]
METRICS_OF_TASKS = re.compile(
    r"/jobs/[0-9a-f]{32}/vertices/[0-9a-f]{32}/(backpressure|metrics|subtasks/metrics|subtasks/\d+/metrics)"
)
"""What a JobManager beside a Prometheus is not asked for."""

PART = re.compile(
    r"(?:(min|max|sum) by \(__name__, task_id, topic, partition\) "
    r'\()?\{__name__=~"([^"]*)"(?:,job_id="([0-9a-f]+)")?\}\)?'
)
"""Of a query: what is put together, of which names and job."""


def recorded() -> list[str]:
    """``<version>/<incident>`` of each."""
    return sorted(
        str(played.parent.relative_to(FOLDER)) for played in FOLDER.glob("*/*/played.json")
    )


@dataclass(frozen=True)
class Judged:
    """``findings`` in order of their windows; ``unknown``: (job, rule) that could not be judged in
    the newest of them.
    """

    findings: tuple[dict[str, Any], ...]
    unknown: frozenset[tuple[str, str]]

    @property
    def told(self) -> set[tuple[str, str, str, str]]:
        """Job, rule, subject and its worst severity.

        Flink's reporter writes ``_`` for what it takes for odd in names.
        """
        worst: dict[tuple[str, str, str], str] = {}
        for one in self.findings:
            key = (one["job_id"], one["rule"], re.sub("[^A-Za-z0-9_:]", "_", one["subject"]))
            worst[key] = max(
                worst.get(key, ""), one["severity"], key=["", "info", "warning", "critical"].index
            )
        return {(*key, severity) for key, severity in worst.items()}


@cache
def found(played: str, way: Way) -> Judged:
    with TemporaryDirectory() as home:
        return judged(FOLDER / played, way, Path(home))


def judged(folder: Path, way: Way, home: Path) -> Judged:
    lake = Lake(str(home / "lake"))
    if way == "plain":
        import_recording(folder, CLUSTER, lake)
    else:
        if way == "fleet":
            import_recording(_without_metrics_of_tasks(folder, home / "asked"), CLUSTER, lake)
        for part in _scraped(folder, url="http://jobmanager" if way == "fleet" else ""):
            lake.append(part)
        logs = LogSource((f"{folder}/pods/*/*/*.log.gz",))
        lake.append(tail.read_new(logs, CLUSTER, None, _ended(folder), final=True).observed)
    return of_lake(lake, home)


def of_lake(lake: Lake, home: Path) -> Judged:
    """What a first cycle over it finds."""
    occurrences, windows = cycled(lake, home, FINDING_OCCURRENCE, JOB_JUDGEMENT)
    unknown = {(row["job_id"], one["rule"]) for row in windows for one in row["unknowns"]}
    return Judged(
        tuple(
            sorted(
                occurrences, key=lambda row: (row["window_start"], row["rule"], row["subject_id"])
            )
        ),
        frozenset(unknown),
    )


def _without_metrics_of_tasks(folder: Path, asked: Path) -> Path:
    asked.mkdir()
    shutil.copy(folder / "scenario.json", asked)
    with (
        gzip.open(folder / "rest.jsonl.gz", "rt", encoding="utf-8") as lines,
        (asked / "rest.jsonl").open("w", encoding="utf-8") as out,
    ):
        out.writelines(
            line for line in lines if not METRICS_OF_TASKS.match(json.loads(line)["path"])
        )
    return asked


class Series:
    """Answers ``query_range`` from what a real Prometheus answered of the whole time."""

    class address:
        base = "http://prometheus"

    def __init__(self, folder: Path) -> None:
        self.all = json.loads(gzip.decompress((folder / "prometheus.json.gz").read_bytes()))
        instants = [at for one in self.all for at, _value in one["values"]]
        self.first_s, self.last_s = min(instants), max(instants)

    async def get(self, path: str) -> Any:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        result = [
            one
            for found in PART.finditer(asked["query"])
            for one in self._part(*found.groups(), int(asked["start"]), int(asked["end"]))
        ]
        assert not re.sub(
            " or on [(]__name__, task_id, topic, partition[)] ", "", PART.sub("", asked["query"])
        ), "the query is not understood as a whole"
        return {"status": "success", "data": {"resultType": "matrix", "result": result}}

    def _part(
        self, aggregate: str | None, names: str, job_id: str | None, start_s: int, end_s: int
    ) -> list[dict[str, Any]]:
        found = [
            {"metric": one["metric"], "values": values}
            for one in self.all
            if re.fullmatch(names, one["metric"]["__name__"])
            and (job_id is None or one["metric"].get("job_id") == job_id)
            and (values := [[at, value] for at, value in one["values"] if start_s <= at <= end_s])
        ]
        if aggregate is None:
            return found
        together: dict[tuple[str, str], dict[float, list[float]]] = {}
        for one in found:
            values_at = together.setdefault(
                (one["metric"]["__name__"], one["metric"]["task_id"]), {}
            )
            for at, value in one["values"]:
                values_at.setdefault(at, []).append(float(value))
        put = {"min": min, "max": max, "sum": sum}[aggregate]
        return [
            {
                "metric": {"__name__": name, "task_id": vertex},
                "values": [[at, str(put(values))] for at, values in sorted(values_at.items())],
            }
            for (name, vertex), values_at in together.items()
        ]


def _scraped(folder: Path, url: str) -> Iterator[tuple[Any, ...]]:
    step_s = json.loads((folder / "played.json").read_text())["step_s"]
    client = Series(folder)
    source = ClusterSource(
        CLUSTER,
        url,
        prometheus=PrometheusSource("http://prometheus"),
        metrics_interval_s=step_s,
    )
    cursor: dict[str, Any] = {"until_s": client.first_s - step_s}
    for at_s in (
        *range(client.first_s + step_s, client.last_s, 10 * step_s),
        client.last_s + 2 * step_s,
    ):
        at = datetime.fromtimestamp(at_s, UTC)
        read = asyncio.run(read_metrics(client, source, cursor, lambda at=at: at))  # type: ignore[arg-type, misc]
        cursor = read.cursor
        yield read.observed


def _ended(folder: Path) -> datetime:
    return datetime.fromtimestamp(json.loads((folder / "scenario.json").read_text())["ended"], UTC)
