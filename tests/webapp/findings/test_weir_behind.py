"""Weir that does not get on tells endpoints so, once, and when it is over."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.alerting.builders import somebody_listens, told
from tests.webapp.builders import cluster
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.findings import unreachable_clusters, weir_behind
from webapp.findings.models import Finding
from webapp.fleet.pipeline_status import alarms
from webapp.work.models import DueWork, PipelineAlarm

pytestmark = pytest.mark.django_db
NOW = timezone.now()
EVERY = timedelta(seconds=15)


@pytest.fixture(autouse=True)
def _running(db: None) -> None:
    """All stages got on at NOW, and tick since."""
    for key in ("collect/0", "spark/cycle"):
        DueWork.objects.create(key=key, interval_s=8, next_attempt_at=NOW, last_success_at=NOW)
    somebody_listens()


def tick(minutes: float, until: float | None = None, **progress: bool) -> None:
    """As beat does, every quarter of a minute."""
    at = NOW + timedelta(minutes=minutes)
    while at <= NOW + timedelta(minutes=minutes if until is None else until):
        alarms.note_tick(at)
        unreachable_clusters.watch(at)
        weir_behind.watch(at)
        evaluate(at)
        at += EVERY


def kinds() -> list[tuple[str, str]]:
    return [(notice.kind, notice.alerts[0].subject) for notice in told()]


def test_a_cycle_that_does_not_get_on_is_told_once_and_its_return_once() -> None:
    DueWork.objects.filter(key="collect/0").update(last_success_at=NOW + timedelta(hours=1))
    tick(0, until=4.5)
    assert kinds() == []
    tick(5, until=12)
    assert kinds() == [("firing", "Weir: spark/cycle")]
    DueWork.objects.filter(key="spark/cycle").update(last_success_at=NOW + timedelta(minutes=12))
    tick(12.25, until=16.5)
    assert kinds() == [("firing", "Weir: spark/cycle"), ("resolved", "Weir: spark/cycle")]
    assert Alert.objects.get().labels["kind"] == "weir"


def test_a_collector_that_stands_still_is_told_as_weirs_own_and_holds_no_alert_back() -> None:
    for number in range(17):
        cluster(f"c{number}", at=NOW)
    DueWork.objects.filter(key="spark/cycle").update(last_success_at=NOW + timedelta(hours=1))
    tick(0, until=6)
    assert kinds() == [("firing", "Weir: collect/0")]
    assert set(Finding.objects.values_list("rule", flat=True)) == {"weir.behind"}
    assert not Alert.objects.exclude(muted_by="").exists()


def test_nothing_was_behind_while_weir_was_off() -> None:
    tick(0)
    tick(8 * 60, until=8 * 60 + 4)
    assert not Finding.objects.exists()


def test_what_was_behind_before_a_restart_still_is() -> None:
    tick(0, until=6)
    tick(30)
    assert Finding.objects.filter(state="open").count() == 2


def test_work_that_is_new_is_not_behind() -> None:
    DueWork.objects.update(last_success_at=NOW + timedelta(hours=1))
    tick(0, until=10)
    row = DueWork.objects.create(key="collect/1", interval_s=8, next_attempt_at=NOW)
    DueWork.objects.filter(pk=row.pk).update(created_at=NOW + timedelta(minutes=10))
    tick(10, until=14)
    assert not Finding.objects.exists()
    tick(14.25, until=16)
    assert Finding.objects.get().subject_id == "collect/1"


def test_a_disk_that_stops_collection_is_told() -> None:
    DueWork.objects.update(last_success_at=NOW + timedelta(hours=1))
    PipelineAlarm.objects.create(
        code="disk.budget",
        subject="/",
        detail="Nothing is collected: the disk of / has 1 MB free.",
        since=NOW,
    )
    tick(0, until=6)
    assert kinds() == [("firing", "Weir: disk")]
    assert "1 MB free" in told()[0].alerts[0].cause


def test_its_pages_are_there(operator) -> None:
    tick(0, until=6)
    found = Finding.objects.get(subject_id="spark/cycle")
    for address in (
        reverse("finding", args=(found.pk,)),
        reverse("alert", args=(Alert.objects.get(finding=found).uid,)),
        reverse("rule", args=("weir.behind",)),
        reverse("findings"),
        reverse("alerts"),
        reverse("incidents"),
    ):
        answer = operator.get(address)
        assert answer.status_code == 200, address
        assert "Weir" in answer.content.decode()
