"""What Flink 2.3's own OpenTelemetry exporter pushed of two jobs, against REST of the same run: a
job that fails, is restored and cancelled, and one that begins afresh.
"""

import base64
import gzip
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.test import Client

from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from ingest.shard_collector import collect_shard
from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT, JOB_START, ServingTable
from tests.first_cycles import cycled
from tests.played import FOLDER, answers
from webapp.fleet.models import Cluster
from webapp.push.models import PushToken

PLAYED = "2.3.0/reported"


class Reports(NamedTuple):
    """``sent``: path, content type and body of each request."""

    sent: list[tuple[str, str, bytes]]
    until: datetime


@pytest.fixture(scope="module")
def reports() -> Reports:
    with gzip.open(FOLDER / PLAYED / "otlp.jsonl.gz", "rt", encoding="utf-8") as lines:
        requests = list(map(json.loads, lines))
    sent = [
        (request["path"], request["headers"]["content-type"], base64.b64decode(request["body"]))
        for request in requests
    ]
    return Reports(sent, datetime.fromtimestamp(requests[-1]["ts"], UTC))


def push(shipper: Client, reports: Reports, only: str = "") -> None:
    for path, content_type, body in reports.sent:
        if path.endswith(only):
            answer = shipper.post(f"/api/v1/push{path}", body, content_type=content_type)
            assert (answer.status_code, answer.content) == (200, b"")


def served(
    cluster: Cluster, home: Path, reports: Reports, *tables: ServingTable, with_rest: bool = False
) -> Any:
    lake = Lake(str(home / "lake"))
    if with_rest:
        import_recording(FOLDER / PLAYED, cluster.name, lake)
    cluster.refresh_from_db()
    collect_shard([cluster.source()], {}, lake, at=lambda: reports.until)
    return cycled(lake, home, *tables)


def by_rest() -> dict[tuple[str, int], dict[str, Any]]:
    """Flink's last word on each checkpoint."""
    return {
        (job_id, checkpoint["id"]): checkpoint
        for _, (job_id,), account in answers(PLAYED, "/jobs/([0-9a-f]{32})/checkpoints")
        for checkpoint in account["history"]
    }


def instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def test_checkpoints_are_those_of_rest(
    shipper: Client, cluster: Cluster, home: Path, reports: Reports
) -> None:
    push(shipper, reports)
    (facts,) = served(cluster, home, reports, CHECKPOINT_FACT)
    rest = by_rest()
    assert {(fact["job_id"], fact["checkpoint_id"]) for fact in facts} == rest.keys()
    for fact in facts:
        told = rest[fact["job_id"], fact["checkpoint_id"]]
        assert (fact["outcome"], fact["is_savepoint"], fact["trigger_time"]) == (
            told["status"].lower(),
            told["is_savepoint"],
            instant(told["trigger_timestamp"]),
        )
        end = instant(told["trigger_timestamp"] + told["end_to_end_duration"])
        if fact["outcome"] == "completed":
            assert (fact["end_to_end_ms"], fact["state_bytes"], fact["checkpointed_bytes"]) == (
                told["end_to_end_duration"],
                told["state_size"],
                told["checkpointed_size"],
            )
            assert fact["end_time"] == end
        else:
            # Flink dates the event some milliseconds after the failure, and its sizes have
            # what was acknowledged until then.
            assert end <= fact["end_time"] <= end + timedelta(milliseconds=20)
            assert fact["state_bytes"] <= told["state_size"]
            assert fact["reason"] is None


def test_a_job_that_fails_and_is_cancelled_is_the_one_of_rest(
    shipper: Client, cluster: Cluster, home: Path, reports: Reports
) -> None:
    push(shipper, reports)
    facts, jobs = served(cluster, home, reports, CHECKPOINT_FACT, JOB_CURRENT)
    ended = {job["job_id"]: job for job in jobs if job["terminal"]}
    told = {
        job_id: job
        for _, (job_id,), job in answers(PLAYED, "/jobs/([0-9a-f]{32})")
        if job["state"] == "CANCELED"
    }
    ((job_id, job),) = told.items()
    assert ended.keys() == {job_id}
    assert (ended[job_id]["name"], ended[job_id]["state"]) == (job["name"], "CANCELED")
    assert abs(ended[job_id]["end_time"] - instant(job["end-time"])) < timedelta(milliseconds=20)
    completed = [fact for fact in facts if fact["outcome"] == "completed"]
    assert Counter(fact["job_id"] for fact in completed) == {
        counted: account["counts"]["completed"]
        for _, (counted,), account in answers(PLAYED, "/jobs/([0-9a-f]{32})/checkpoints")
    }


def test_starts_of_rest_get_the_checkpoint_and_the_parts_of_their_initialization(
    shipper: Client, cluster: Cluster, home: Path, reports: Reports
) -> None:
    push(shipper, reports)
    (starts,) = served(cluster, home, reports, JOB_START, with_rest=True)
    restored = {
        account["latest"]["restored"]["id"]
        for _, _, account in answers(PLAYED, "/jobs/([0-9a-f]{32})/checkpoints")
        if account["latest"]["restored"]
    }
    initializations = [start["detail"]["initialization"] for start in starts]
    assert {one["checkpoint_id"] for one in initializations} == restored | {None}
    for start, one in zip(starts, initializations, strict=True):
        assert one["state"] == "COMPLETED"
        assert one["duration_ms"] <= start["total_ms"]
        assert {"InitializeState", "MailboxStart", "GateRestore"} <= one["parts_ms"].keys()
        assert ("DownloadState" in one["parts_ms"]) == (one["checkpoint_id"] is not None)


def test_what_is_pushed_again_changes_nothing(
    shipper: Client, cluster: Cluster, home: Path, reports: Reports
) -> None:
    push(shipper, reports)
    lines = PushToken.objects.get().lines
    push(shipper, reports)
    assert PushToken.objects.get().lines == lines


def test_events_alone_tell_the_same_outcomes(
    shipper: Client, cluster: Cluster, home: Path, reports: Reports
) -> None:
    push(shipper, reports, only="/logs")
    (facts,) = served(cluster, home, reports, CHECKPOINT_FACT)
    assert {(fact["job_id"], fact["checkpoint_id"]): fact["outcome"] for fact in facts} == {
        key: told["status"].lower() for key, told in by_rest().items()
    }
