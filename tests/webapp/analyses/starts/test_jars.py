"""What TaskManagers fetch when a job is deployed, against the raw lines of their logs."""

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.raw_starts import FIXTURES
from tests.webapp.analyses.starts.test_recorded import SLOW, taken_up
from webapp.analyses.job.starts import jars_text
from webapp.analyses.starts.job_starts import high_availability, jar_downloads, job_starts
from webapp.fleet.models import JobCurrent, LogEvent

pytestmark = pytest.mark.django_db
LATEST = datetime(9999, 1, 1, tzinfo=UTC)
LINE = re.compile(r"^(\S+ \S+) INFO .*BlobClient +\[\] - Downloading [0-9a-f]{32}/p-")
DEPLOYED = re.compile(r"^(\S+ \S+) INFO .* switched from DEPLOYING to INITIALIZING")


def first(pattern: re.Pattern[str], lines: list[str]) -> datetime:
    at = next(match[1] for line in lines if (match := pattern.match(line)))
    return datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)


@pytest.mark.parametrize("recording", SLOW)
def test_each_taskmanager_fetches_the_jar_once_and_restarts_fetch_nothing(
    recording: str, home: Path
) -> None:
    (job,) = taken_up(recording, home)
    found = jar_downloads(job, job_starts(job), LATEST)
    logs = {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()).decode().splitlines()
        for path in (FIXTURES / recording / "logs").iterdir()
        if "taskexecutor" in path.name
    }
    assert {
        name: sum(bool(LINE.match(line)) for line in lines) for name, lines in logs.items()
    } == dict.fromkeys(logs, 1)
    assert {one.process: one.at for one in found.downloads} == {
        name: first(LINE, lines) for name, lines in logs.items()
    }
    for one in found.downloads:
        took = first(DEPLOYED, logs[one.process]) - one.at
        assert one.at_most_ms == round(took.total_seconds() * 1000)
    assert (len(found.downloads), found.files, found.at) == (2, 1, job_starts(job).starts[-1].at)
    assert found.high_availability is False


@pytest.mark.parametrize(
    ("configuration", "is_on"),
    [
        ({"high-availability.type": "zookeeper"}, True),
        (
            {
                "high-availability": "org.apache.flink.kubernetes.highavailability.KubernetesHaServicesFactory"
            },
            True,
        ),
        ({"high-availability.type": "NONE"}, False),
        ({"parallelism.default": "1"}, False),
        ({}, None),
        (None, None),
    ],
)
def test_high_availability_follows_from_what_is_set(configuration: Any, is_on: bool | None) -> None:
    assert high_availability(JobCurrent(configuration=configuration)) is is_on


def test_a_job_without_logs_of_taskmanagers_says_so(home: Path) -> None:
    (job,) = taken_up(SLOW[0], home)
    LogEvent.objects.filter(kind="blob_download").delete()
    found = jar_downloads(job, job_starts(job), LATEST)
    assert jars_text(found).startswith("No log of a TaskManager has a download from the JobManager")
