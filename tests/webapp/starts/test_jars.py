"""What TaskManagers fetch when a job is deployed, against the raw lines of their logs; and what that comes to in bytes and seconds."""

import gzip
import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests.first_cycles import CLUSTER
from tests.raw_starts import FIXTURES
from tests.webapp.starts.test_recorded import SLOW, taken_up
from webapp.fleet.models import JobCurrent, LogEvent
from webapp.starts.jar_downloads import JarDownloads, high_availability, jar_downloads
from webapp.starts.job_starts import job_starts
from webapp.starts.words import about_jars

pytestmark = pytest.mark.django_db
GBIT = 125_000_000
LINE = re.compile(r"^(\S+ \S+) INFO .*BlobClient +\[\] - Downloading [0-9a-f]{32}/p-")
DEPLOYED = re.compile(r"^(\S+ \S+) INFO .* switched from DEPLOYING to INITIALIZING")


def first(pattern: re.Pattern[str], lines: list[str]) -> datetime:
    at = next(match[1] for line in lines if (match := pattern.match(line)))
    return datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)


@pytest.mark.parametrize("recording", SLOW)
def test_each_taskmanager_fetches_the_jar_once_and_restarts_fetch_nothing(recording: str, home: Path) -> None:
    (job,) = taken_up(recording, home)
    found = jar_downloads(job, job_starts(job), 50_000_000, GBIT)
    logs = {path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()).decode().splitlines()
            for path in (FIXTURES / recording / "logs").iterdir() if "taskexecutor" in path.name}  # fmt: skip
    assert {name: sum(bool(LINE.match(line)) for line in lines) for name, lines in logs.items()} == dict.fromkeys(logs, 1)
    assert {one.process: one.at for one in found.downloads} == {name: first(LINE, lines) for name, lines in logs.items()}
    for one in found.downloads:
        took = first(DEPLOYED, logs[one.process]) - one.at
        assert one.at_most_ms == round(took.total_seconds() * 1000)
    assert (found.processes, found.files, found.at) == (2, 1, job_starts(job).starts[-1].at)
    assert found.high_availability is False


def distribution(**fields: Any) -> JarDownloads:
    known: dict[str, Any] = {"at": None, "taskmanagers": 1_000, "hosts": 100, "high_availability": False, "files": 1, "processes": 0,
                             "downloads": (), "jar_bytes": 300_000_000, "link_bytes_per_s": 10 * GBIT}  # fmt: skip
    return JarDownloads(**(known | fields))


def test_bytes_and_seconds_are_jars_times_taskmanagers_against_jars_times_hosts() -> None:
    """1,000 TaskManagers on 100 hosts, jars of 300 MB, 10 Gbit/s: 300 GB in 240 s against 30 GB."""
    found = distribution()
    assert (found.by_taskmanager_bytes, found.by_host_bytes) == (300_000_000_000, 30_000_000_000)
    assert (found.sent_bytes, found.sent_ms) == (300_000_000_000, 240_000)
    assert (found.saved_bytes, found.saved_ms) == (270_000_000_000, 216_000)
    assert about_jars(found)[1:] == [
        "The JobManager sends 300 GB for one deployment, 4 min at the given link.",
        "One download a host would save 270 GB, 3 min 36 s of that.",
    ]
    assert about_jars(distribution(hosts=1_000))[-1] == "Each host runs one of its TaskManagers: one download a host would save nothing."


def test_with_high_availability_the_jobmanager_sends_nothing() -> None:
    found = distribution(high_availability=True)
    assert (found.sent_bytes, found.sent_ms, found.saved_ms) == (0, 0, 0)
    assert found.by_taskmanager_bytes == 300_000_000_000  # from its storage


@pytest.mark.parametrize("unknown", ["jar_bytes", "taskmanagers", "high_availability"])
def test_what_is_not_known_is_not_guessed(unknown: str) -> None:
    found = distribution(**{unknown: None})
    assert found.sent_bytes is None
    assert found.sent_ms is None
    assert any("not known" in line or "Flink reports nowhere" in line for line in about_jars(found))


@pytest.mark.parametrize(
    ("configuration", "is_on"),
    [
        ({"high-availability.type": "zookeeper"}, True),
        ({"high-availability": "org.apache.flink.kubernetes.highavailability.KubernetesHaServicesFactory"}, True),
        ({"high-availability.type": "NONE"}, False),
        ({"parallelism.default": "1"}, False),
        ({}, None),
        (None, None),
    ],
)
def test_high_availability_follows_from_what_is_set(configuration: Any, is_on: bool | None) -> None:
    assert high_availability(JobCurrent(configuration=configuration)) is is_on


def test_a_job_without_logs_of_taskmanagers_says_so(viewer: Any, home: Path) -> None:
    (job,) = taken_up(SLOW[0], home)
    LogEvent.objects.filter(kind="blob_download").delete()
    page = viewer.get(reverse("starts", args=(job.cluster, job.job_id))).content.decode()
    assert "No log of a TaskManager has a download from the JobManager" in page
    assert "How large the jars are Flink reports nowhere" in page


def test_page_api_and_command_take_the_size_of_the_jars_and_the_link(viewer: Any, home: Path) -> None:
    (job,) = taken_up(SLOW[0], home)
    at, query = (job.cluster, job.job_id), "?jar_kb=250000&link_mbit=1000"
    sentence = "The JobManager sends 500 MB for one deployment, 4.0 s at the given link."
    assert sentence in viewer.get(reverse("starts", args=at) + query).content.decode()
    jars = viewer.get(reverse("api-job-starts", args=at) + query).json()["jars"]
    assert (jars["sent_bytes"], jars["sent_ms"], jars["hosts"], jars["taskmanagers"]) == (500_000_000, 4_000, 2, 2)
    out = StringIO()
    call_command("starts", CLUSTER, job.job_id, "--jar-kb", "250000", "--link-mbit", "1000", stdout=out)
    assert sentence in out.getvalue()
    assert viewer.get(reverse("api-job-starts", args=at) + "?jar_kb=many").status_code == 400
