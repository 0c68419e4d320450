"""Recorded incidents, judged by the rules, through findings and alerts to a real receiver: told
once, and once only.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from spark_jobs.diagnosis.plain import finding_to_plain
from spark_jobs.diagnosis.registry import diagnose
from spark_jobs.fold.rows import served_rows
from spark_jobs.fold.rule_evaluation import COLUMNS
from spark_jobs.serving import SERVING_TABLES, ServingTable
from tests.webapp.alerting.builders import somebody_listens
from tests.webapp.delivery.builders import LOOPBACK
from tests.webapp.delivery.receiver import Receiver, receiving
from tests.webapp.findings.test_folding import load
from tests.webapp.pipeline.runs import row
from tests.windows import recorded_windows
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.delivery.sending import send_due
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
SIGHT = SERVING_TABLES["finding_occurrence"]
OF_FINDING = ServingTable(
    SIGHT.name, SIGHT.row, (), tuple(one for one in SIGHT.columns if one.name in COLUMNS)
)


@pytest.fixture
def receiver(db) -> Iterator[Receiver]:
    with receiving() as found:
        somebody_listens(url=f"{found.url}/ok")
        yield found


def instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def imported(name: str) -> None:
    """Sights and judgements of a recording as Spark hands them over; only the windows were made by
    it before.
    """
    occurrences, starts, ends = [], defaultdict(list), defaultdict(int)
    for window in recorded_windows(name):
        starts[window.cluster, window.job_id].append(window.window_start_ms)
        ends[window.cluster, window.job_id] = max(ends[window.cluster, window.job_id], window.at_ms)
        for finding in diagnose(window).findings:
            plain = finding_to_plain(finding)
            told = served_rows([{name: plain[name] for name in COLUMNS}], OF_FINDING)[0]
            at = {
                "window_start": instant(window.window_start_ms),
                "began_at": instant(plain["seen_at_ms"]),
                "seen_at": instant(plain["seen_at_ms"]),
                "as_of": instant(window.at_ms),
            }
            occurrences.append(
                row(
                    "finding_occurrence",
                    cluster=window.cluster,
                    job_id=window.job_id,
                    job_name=window.job_name,
                    **at,
                    **told,
                )
            )
    judgements, jobs = [], []
    for (cluster, job_id), begins in starts.items():
        end = instant(ends[cluster, job_id])
        runs = [{"first": min(begins) // 1000, "last": max(begins) // 1000}]
        key = {"cluster": cluster, "job_id": job_id, "as_of": end}
        judgements.append(
            row("job_judgement", **key, judged_to=end, windows=json.dumps(runs), unknowns="[]")
        )
        jobs.append(row("job_current", **key, state="FINISHED", terminal=True, end_time=end))
    for cluster in {cluster for cluster, _job in starts}:
        Cluster.objects.get_or_create(
            name=cluster, defaults={"kind": "recording", "enabled": False}
        )
    load(judgements, occurrences, jobs)


def told(receiver: Receiver) -> list[dict[str, Any]]:
    send_due(LOOPBACK)
    return [json.loads(got.body)["data"] for got in receiver.got]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("1.20.5-F", "checkpoint.expired"),
        ("1.20.5-E", "checkpoint.declined"),
        ("1.12.5-G", "checkpoint.full_after_savepoint"),
    ],
)
def test_an_imported_incident_is_told_once_as_ended_with_its_cause(receiver, name, rule):
    now = timezone.now()
    imported(name)
    for minute in range(4):
        evaluate(now + timedelta(minutes=minute))
    notices = told(receiver)
    by_group: dict[str, list[str]] = defaultdict(list)
    for notice in notices:
        by_group[notice["group"]].append(notice["kind"])
    assert all(kinds == ["resolved"] for kinds in by_group.values()), by_group
    ended = [alert for notice in notices for alert in notice["alerts"]]
    assert rule in {alert["rule"] for alert in ended} and all(
        alert["cause"] and alert["next_step"] for alert in ended
    )
    assert not {"info"} & {alert["severity"] for alert in ended}
    assert sorted(alert["uid"] for alert in ended) == sorted(
        Alert.objects.values_list("uid", flat=True)
    )

    imported(name)
    for hours in (1, 5, 30):
        evaluate(now + timedelta(hours=hours))
    assert len(told(receiver)) == len(notices)
