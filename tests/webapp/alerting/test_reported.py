"""Incidents that people reported, from their logs to the notice and to the health that is served:
``tests/fixtures/field/README.md``.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from spark_jobs import manifest as manifests
from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from spark_jobs.run_rows import rows_of
from spark_jobs.serving import SERVING_TABLES
from tests.diagnosis.test_field_stories import (
    LOST_TRANSACTIONS,
    begins_without_state,
    crashes_once_it_ran,
    loses_transactions,
    slots_missing_after_a_loss,
    workers_die,
)
from tests.first_cycles import CLUSTER, RUN, served_tables
from tests.told_logs import BEGUN, JOB, Story
from tests.webapp.alerting.builders import somebody_listens, told
from tests.webapp.findings.test_folding import load
from webapp.alerting.evaluation import evaluate
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db


def loaded(story: Story, home: Path) -> None:
    """What the first cycle over its logs serves, in the database."""
    Cluster.objects.create(name=CLUSTER, kind="recording", enabled=False)
    served_tables(story.written(home / "recording"), home)
    manifest = manifests.read(str(home / RUN / "manifest.json"))
    judgements, occurrences, jobs = (
        [
            row
            for batch in rows_of(manifest, name, SERVING_TABLES[name].column_names, 1000)
            for row in batch.to_pylist()
        ]
        for name in ("job_judgement", "finding_occurrence", "job_current")
    )
    load(judgements, occurrences, jobs)


def test_slots_that_stay_away_after_a_taskmanager_died_are_notified_with_what_helps_now(tmp_path):
    somebody_listens()
    loaded(slots_missing_after_a_loss(), tmp_path)
    for minute in range(10, 13):
        evaluate(BEGUN + timedelta(minutes=minute))
    [alert] = [one for notice in told() for one in notice.alerts if one.rule == "restart.loop"]
    assert alert.severity == "critical"
    assert str(cause_by_code("NO_RESOURCE_AVAILABLE").next_step) in alert.next_step
    assert "It began with TaskManager lost (tm-1)" in alert.cause


@pytest.mark.parametrize(
    ("story", "rule"),
    [
        pytest.param(
            loses_transactions(*LOST_TRANSACTIONS[0].values), "sink.transaction_timeout", id="sink"
        ),
        pytest.param(begins_without_state(), "restore.without_state", id="start without state"),
        pytest.param(crashes_once_it_ran(), "jobmanager.crash_loop", id="JobManager"),
        pytest.param(workers_die(), "start.workers_lost", id="TaskManagers"),
    ],
)
def test_what_is_lost_in_silence_lowers_the_health_that_is_served(viewer, tmp_path, story, rule):
    loaded(story, tmp_path)
    [job] = viewer.get("/api/v1/jobs/").json()["results"]
    [finding] = viewer.get("/api/v1/findings/", {"rule": rule}).json()["results"]
    assert (job["job_id"], finding["severity"]) == (JOB, "critical")
    assert job["health"] <= 70
    shown = {name: viewer.get("/", {"health": name}).content for name in ("fair", "healthy")}
    assert JOB.encode() in shown["fair"] and JOB.encode() not in shown["healthy"]
