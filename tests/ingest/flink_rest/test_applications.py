"""Applications of Flink 2.3 whose ``main`` failed before there was a job, by REST alone.

Answers follow Flink's ``ApplicationDetailsInfo`` and ``ApplicationExceptionsInfoWithHistory``; those
of an application with a job were recorded.
"""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest.cluster_run import ClusterRun, Shard
from ingest.flink_rest.applications import read_applications
from ingest.flink_rest.limits import RequestLimits
from ingest.flink_rest.versions import has_applications
from ingest.sources import ClusterSource
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from tests.ingest.flink_logs.row_events import event_of
from tests.ingest.flink_rest.serving import Server, told

FAILED, OTHER = "f" * 32, "e" * 32
AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
AT_MS = round(AT.timestamp() * 1000)
TRACE = (
    "org.apache.flink.client.program.ProgramInvocationException: The main method caused an error\n"
    "\tat org.apache.flink.client.program.PackagedProgram.callMainMethod(PackagedProgram.java:1)\n"
    "Caused by: java.lang.IllegalArgumentException: no topic\n\tat com.example.Main.main(M.java:9)\n"
)
[SUMMARY] = Path("tests/fixtures/archives/2.3.0").rglob("application-summary")
RECORDED = {
    entry["path"]: json.loads(entry["json"]) for entry in json.loads(SUMMARY.read_text())["archive"]
}


def application(id=FAILED, status="FAILED", **jobs):
    times = {"start-time": AT_MS - 9_000, "end-time": AT_MS - 1_000, "duration": 8_000}
    return {"id": id, "name": f"orders {id[0]}", "status": status, "jobs": jobs, **times}


def thrown(**changes):
    entry = {"exceptionName": "x.Y", "stacktrace": TRACE, "timestamp": AT_MS - 2_000}
    return {"exceptionHistory": {"entries": [entry | changes]}}


def read(answers, cursor=None):
    def answer(path, _headers):
        return told(answers[path]) if path in answers else told({"errors": ["Not found."]}, 404)

    async def conversation():
        async with Server(answer) as server:
            shard = Shard(lambda: AT, 30, RequestLimits())
            run = ClusterRun(ClusterSource("lab", server.url), cursor or {}, shard)
            return await read_applications(run), server.asked

    found, asked = asyncio.run(conversation())
    return [record for part in found.observed for record in part.records], found, asked


def test_the_exceptions_of_a_main_that_made_no_job_are_read_once_and_are_a_finding():
    answers = {
        "/applications/overview": {"applications": [application()]},
        f"/applications/{FAILED}/exceptions": thrown(),
    }
    [record], found, _asked = read(answers)
    event = event_of(record)
    assert (event.kind, event.job_id, event.ts) == (
        "program_failed",
        None,
        AT - timedelta(seconds=2),
    )
    told_event = LogEvent(AT_MS - 2_000, event.kind, message=event.message, detail=event.detail)
    judged = JobWindow("lab", "", AT_MS, AT_MS - 60_000, events=(told_event,))
    (finding,) = registry.diagnose(judged, only=["jobmanager.error"]).findings
    assert "IllegalArgumentException" in finding.title and finding.severity == "critical"
    again, _found, asked = read(answers, {"applications": found.cursor})
    assert (again, asked) == ([], ["/applications/overview"])


@pytest.mark.parametrize(
    "listed",
    [
        application(FAILED=1),
        application(status="RUNNING"),
        application(id="../x"),
        RECORDED["/applications/overview"]["applications"][0],
        7,
    ],
)
def test_applications_that_have_a_job_or_did_not_fail_are_not_asked_for_exceptions(listed):
    records, _found, asked = read({"/applications/overview": {"applications": [listed]}})
    assert (records, asked) == ([], ["/applications/overview"])


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"exceptionHistory": {"entries": 7}},
        thrown(timestamp="x"),
        thrown(timestamp=AT_MS + 90 * 60_000),
        thrown(stacktrace=["x"]),
        RECORDED["/applications/4559a64f621c78192aa92abe325d234c/exceptions"],
    ],
)
def test_an_answer_of_an_odd_shape_stops_no_other(body):
    answers = {
        "/applications/overview": {"applications": [application(), application(OTHER)]},
        f"/applications/{FAILED}/exceptions": body,
        f"/applications/{OTHER}/exceptions": thrown(),
    }
    [record], _found, _asked = read(answers)
    assert OTHER in record.message


def test_only_releases_that_have_applications_are_asked_for_them():
    versions = ("1.20.5", "2.2.0", "2.3.0", "2.4-SNAPSHOT", None)
    assert [has_applications(version) for version in versions] == [False, False, True, True, False]
