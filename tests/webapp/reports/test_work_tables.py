"""The report of a job tells its file system calls and what its tasks need, in every form, as their
own commands do.
"""

import json
from datetime import timedelta
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import CLUSTER, served
from tests.played import FOLDER
from tests.played_trees import FINAL, audited, newest
from tests.webapp.analyses.answers import tables_of
from tests.webapp.builders import T0, cluster, fact, job, replica
from tests.webapp.reports.stories import UID, gather, scope, told
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import ThresholdOverride
from webapp.fleet.models import JobCurrent
from webapp.profiles.job_threads import job_threads
from webapp.profiles.models import ThreadDump
from webapp.reports.gathering import incident, work_tables
from webapp.reports.renderers import html, markdown

pytestmark = pytest.mark.django_db
PLAYED = "1.20.5/counted-small"


@pytest.fixture
def of(weir, tmp_path):
    """The played job, its samples in the lake and its checkpoints audited."""
    at = newest(PLAYED) + timedelta(minutes=5)
    audited(PLAYED, tmp_path, [(FINAL, at)], [])
    home = tmp_path / "audits"
    weir(home=home, lake_root=str(home / "lake"))
    (row,) = served(FOLDER / PLAYED, home, JOB_CURRENT)
    facts = served(FOLDER / PLAYED, tmp_path / "facts", CHECKPOINT_FACT)
    CheckpointFact.objects.bulk_create(CheckpointFact(**fact) for fact in facts)
    cluster(CLUSTER, at=at)
    return JobCurrent.objects.create(**row)


def printed(command, of, *more):
    out = StringIO()
    call_command(command, CLUSTER, of.job_id, *more, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_each_has_its_sentence_and_its_figures_in_every_form(of):
    ThresholdOverride.objects.create(key="storage.small_files.calls_per_s", value=1)
    until = newest(PLAYED) + timedelta(minutes=10)
    document = gather(
        scope(of, start=of.start_time, end=until), uid=UID, made_at=timezone.now(), made_by="olga"
    )
    tables = {one.title: one for one in document.stories[0].tables}
    assert [*tables] == ["File system calls"]
    calls = printed("analyse", of, "filesystem-calls")
    assert tables["File system calls"].note == calls["verdict"]["sentence"]
    expected = {row["kind"]: row["expected"] for row in tables_of(calls)["kinds"]["rows"]}
    assert {
        row[0]: int(row[1].replace(",", "")) for row in tables["File system calls"].rows
    } == expected
    for form in (unescape(html.render(document)), markdown.render(document).replace("\\", "")):
        for table in tables.values():
            assert {cell for row in table.rows for cell in row if cell not in form} == set()
            assert table.note in form


def test_a_job_of_which_nothing_is_worked_out_has_none(django_assert_max_num_queries):
    of = job(at=T0)
    with django_assert_max_num_queries(30):
        assert [*work_tables.tables(of, scope(of), T0)] == []


def test_a_report_of_many_jobs_leaves_them_out_and_says_so(of, monkeypatch):
    for module, name in ((work_tables, "MOST_JOBS"), (incident, "MOST_WITH_TABLES")):
        monkeypatch.setattr(module, name, 0)
    document = told(of)
    assert document.stories[0].tables == ()
    assert any(
        line.startswith("Placement, file system calls, recovery and what follows them are left out")
        for line in document.cut
    )


def test_what_its_tasks_need_is_told_as_on_its_pages(weir, tmp_path, home):
    """RocksDB that stalls, unaligned data of which there is none here, a copy that lies behind, and
    threads that were dumped.
    """
    (row,) = served(FOLDER / "2.3.0/write-stall", home, JOB_CURRENT)
    of = JobCurrent.objects.create(**row)
    cluster(CLUSTER, at=of.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    fact(of, 1, of.last_seen_at, unaligned=True, persisted_bytes=1000, checkpointed_bytes=2000)
    replica(of, of.last_seen_at, rounds=1)
    enrich = next(one for one in job_threads(of, of.last_seen_at, of.last_seen_at).taskmanagers)
    ThreadDump.objects.create(
        cluster=CLUSTER,
        taskmanager_id=enrich.taskmanager_id,
        wanted_at=of.last_seen_at,
        state="taken",
        taken_at=of.last_seen_at,
        threads=[
            {
                "name": "enrich (1/2)#0",
                "number": 1,
                "state": "RUNNABLE",
                "frames": ["a.B.map:7"],
                "in_a_row": 3,
                "place": "x",
            }
        ],
    )
    of_time = scope(of, start=of.start_time, end=of.last_seen_at + timedelta(minutes=1))
    tables = {
        one.title: one
        for one in gather(of_time, uid=UID, made_at=timezone.now(), made_by="olga")
        .stories[0]
        .tables
    }
    assert {"State backend", "Copy of its checkpoints", "Threads"} <= tables.keys()
    assert tables["State backend"].note == printed("analyse", of, "backend")["verdict"]["sentence"]
    assert tables["Threads"].rows == (("enrich (1/2)#0", "runs in a.B.map", "3"),)
    assert "Exactly-once" not in tables
