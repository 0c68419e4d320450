"""Analyses of a job are in the appendix: those with trouble, and threads of the time."""

from datetime import timedelta

import pytest

from spark_jobs.serving import JOB_CURRENT
from tests.first_cycles import CLUSTER, served
from tests.played import FOLDER
from tests.webapp.builders import T0, cluster, fact, finding, job
from tests.webapp.reports.stories import UID, gather, lines, part, parts, rows, scope, told
from webapp.fleet.models import JobCurrent
from webapp.profiles.job_threads import job_threads
from webapp.profiles.models import ThreadDump
from webapp.reports.gathering import job_part

pytestmark = pytest.mark.django_db


def test_analyses_with_trouble_and_threads_are_reported(weir, home):
    """RocksDB that stalls, and threads that were dumped."""
    (row,) = served(FOLDER / "2.3.0/write-stall", home, JOB_CURRENT)
    of = JobCurrent.objects.create(**row)
    at = of.last_seen_at
    cluster(CLUSTER, at=of.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    fact(of, 1, at, unaligned=True, persisted_bytes=1000, checkpointed_bytes=2000)
    (manager, *_) = job_threads(of, at, at).taskmanagers
    thread = {
        "name": "enrich (1/2)#0",
        "number": 1,
        "state": "RUNNABLE",
        "frames": ["a.B.map:7"],
        "in_a_row": 3,
        "place": "x",
    }
    dump = {"cluster": CLUSTER, "taskmanager_id": manager.taskmanager_id, "state": "taken"}
    ThreadDump.objects.create(**dump, wanted_at=at, taken_at=at, threads=[thread])
    of_time = scope(of, start=of.start_time, end=at + timedelta(minutes=1))
    report = gather(of_time, uid=UID, made_at=at, made_by="olga")
    assert part(report, "backend-").verdict.tone == "warn"
    assert rows(part(report, "threads-"), "tasks")[0]["does"] == "runs in a.B.map"
    assert not parts(report, "exactly-once-")


def test_a_report_of_many_jobs_leaves_analyses_out_and_says_so(monkeypatch):
    monkeypatch.setattr(job_part, "MOST_ANALYSED", 0)
    of = job(at=T0)
    finding(of, at=T0)
    report = told(of)
    assert {one.key.split("-")[0] for one in report.appendix} == {
        "timeline",
        "finding",
        "job",
    }
    left_out = "Analyses of jobs are left out of reports of more than 0 jobs."
    assert left_out in lines(report.pages, "What is not known")
