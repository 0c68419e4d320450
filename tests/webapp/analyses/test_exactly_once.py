"""Transactions of recorded jobs: page, API and command, against Flink's own log lines and against
each other.
"""

import json
import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT, JOB_START, LOG_EVENT
from tests.diagnosis.test_sink_transactions import open_at_commits
from tests.first_cycles import CLUSTER, served_tables
from tests.played import logged
from tests.raw_starts import FIXTURES
from tests.webapp.analyses.answers import advice_of, facts_of
from tests.webapp.builders import cluster, job
from webapp.analyses.inputs import inputs_for_job
from webapp.analyses.job.exactly_once import job_transactions
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import ThresholdOverride
from webapp.fleet.models import JobCurrent, JobStart, LogEvent
from webapp.lib.filter_sets import ListFilters

pytestmark = pytest.mark.django_db


def taken_up(recording: str, home: Path) -> JobCurrent:
    models = {
        JOB_CURRENT: JobCurrent,
        JOB_START: JobStart,
        CHECKPOINT_FACT: CheckpointFact,
        LOG_EVENT: LogEvent,
    }
    for model, rows in zip(
        models.values(), served_tables(FIXTURES / recording, home, *models), strict=True
    ):
        model.objects.bulk_create(model(**row) for row in rows)  # type: ignore[attr-defined]
    own = JobCurrent.objects.get()
    cluster(CLUSTER, at=own.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    return own


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("analyse", *arguments, stdout=out)
    return out.getvalue()


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_page_api_and_command_say_what_flinks_sink_logged(
    version: str, home: Path, viewer: Client
) -> None:
    job = taken_up(f"incidents/{version}/short-transactions", home)
    log = logged(f"{version}/short-transactions")
    document = viewer.get(
        reverse("api-job-analysis-exactly-once", args=(CLUSTER, job.job_id))
    ).json()
    facts = facts_of(document)
    assert document == json.loads(printed(CLUSTER, job.job_id, "exactly-once", "--json"))
    assert facts["timeout_ms"] == 12_000
    assert facts["lost"] == log.count("Data loss might have occurred")
    # One sink subtask: Flink tells how long each transaction was open that was committed with a
    # checkpoint.
    by_sink = list(open_at_commits(f"{version}/short-transactions"))
    inputs = inputs_for_job(job, ListFilters({}))
    of_sinks = job_transactions(job, inputs.until, inputs.since).sink_transactions
    of_commits = [one.open_ms for one in of_sinks.commits]
    assert facts["open_ms"] == max([*of_commits, of_sinks.pending_ms or 0])
    assert len(of_commits) == len(by_sink) >= 5
    assert all(
        -500 <= ours - theirs < 2_500 for ours, theirs in zip(of_commits, by_sink, strict=True)
    )
    recovered = [int(ms) for ms in re.findall(r"has been open for (\d+) ms", log)]
    assert facts["needed_ms"] >= max(recovered) - 500
    page = words_of(
        viewer.get(reverse("exactly-once", args=(CLUSTER, job.job_id))).content.decode()
    )
    assert document["verdict"]["sentence"] in page
    assert advice_of(document)[0] in page
    assert (
        document["verdict"]["sentence"]
        in printed(CLUSTER, job.job_id, "exactly-once").splitlines()[0]
    )


def test_a_long_time_out_is_fine_and_one_that_is_entered_counts_instead(
    home: Path, viewer: Client
) -> None:
    job = taken_up("incidents/1.20.5/transactions", home)
    address = reverse("api-job-analysis-exactly-once", args=(CLUSTER, job.job_id))
    document = viewer.get(address).json()
    facts = facts_of(document)
    assert (facts["timeout_ms"], facts["lost"]) == (900_000, 0)
    assert document["verdict"]["sentence"].startswith("Transactions are open for up to ")
    ThresholdOverride.objects.create(
        key="sink.transaction_timeout.set_ms", value=4_000, cluster=CLUSTER, job_id=job.job_id
    )
    document = viewer.get(address).json()
    facts = facts_of(document)
    assert facts["timeout_ms"] == 4_000
    assert "is lost" in document["verdict"]["sentence"]


@pytest.mark.parametrize("recording", ["transactions", "short-transactions"])
def test_what_is_advised_agrees_with_the_verdict_whatever_the_time_out(
    recording: str, home: Path, viewer: Client
) -> None:
    job = taken_up(f"incidents/1.20.5/{recording}", home)
    address = reverse("api-job-analysis-exactly-once", args=(CLUSTER, job.job_id))
    tones = set()
    for timeout_ms in (2_000, 10_000, 20_000, 30_000, 60_000, 120_000, 900_000):
        ThresholdOverride.objects.update_or_create(
            key="sink.transaction_timeout.set_ms",
            cluster=CLUSTER,
            job_id=job.job_id,
            defaults={"value": timeout_ms},
        )
        document = viewer.get(address).json()
        tone = document["verdict"]["tone"]
        tones.add(tone)
        stays = any(words in advice_of(document)[0] for words in ("can stay", "is enough for"))
        assert stays is (tone == "ok"), (timeout_ms, tone)
    assert "crit" in tones and (recording == "short-transactions" or "ok" in tones)


def test_without_a_log_that_tells_the_time_out_is_unknown_not_fine(
    viewer: Client, django_assert_max_num_queries
) -> None:
    now = datetime(2026, 11, 21, 4, tzinfo=UTC)
    cluster("prod-eu", at=now)
    own = job("prod-eu", at=now, name="orders")
    with django_assert_max_num_queries(18):
        page = words_of(
            viewer.get(reverse("exactly-once", args=("prod-eu", own.job_id))).content.decode()
        )
    assert "? The transaction time-out of its sinks is not known" in page
    assert "Nothing can be advised" in page
