"""Objectives: what burns them, by hand-computed rates; their findings, their page and their scopes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.objective_samples import Counts, ObjectiveBurn
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.serving import JOB_ANNOTATION, JOB_START
from tests.first_cycles import served_tables
from tests.played import FOLDER
from tests.raw_outages import raw_outages
from tests.webapp.builders import cluster, fact, finding, job, window
from webapp.accounts.models import User
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobStart
from webapp.growth.down_seconds import by_minute, down_seconds
from webapp.growth.models import Objective, ObjectiveRecord
from webapp.growth.objective_evaluation import evaluate, is_wanted
from webapp.growth.objectives import (
    HourSums,
    full_hours,
    hour_sums,
    replace_rows,
    set_objective,
    window_counts,
)
from webapp.lib.refusals import InputRefused

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Guard:
    @contextmanager
    def writing(self) -> Iterator[None]:
        yield


def objective(kind: str, target: str = "99", limit_s: str = "", matchers: str = "") -> Objective:
    values = {
        "name": kind,
        "kind": kind,
        "target": target,
        "limit_s": limit_s,
        "matchers": matchers,
    }
    return set_objective(values, "olga", AT)


def played(minutes: int, state_at: Any, **fields: Any) -> JobCurrent:
    """One job, evaluated once a minute; ``state_at`` gives what its row says in each."""
    cluster("prod", at=AT)
    row = job("prod", at=AT, name="orders", **fields)
    for number in range(minutes):
        now = AT + number * MINUTE
        with time_machine.travel(now, tick=False):
            Cluster.objects.update(last_collected_at=now, last_success_at=now)
            seen = {"last_seen_at": now, "judged_at": now, "as_of": now}
            JobCurrent.objects.update(**seen, **state_at(number, now))
            evaluate(Guard(), now)
    return row


def running_but(bad: set[int]) -> Any:
    return lambda number, now: {"state": "RESTARTING" if number in bad else "RUNNING"}


def burn(counts: dict[int, Counts], target: float = 0.999) -> list[tuple[str, str]]:
    sample = ObjectiveBurn(
        "c", "j", "orders", "o", "recovery_point", target, 0, counts, Counts(0, 0), 4320
    )
    found = registry.diagnose(sample, Settings(()).limits("c", "j", "orders")).findings
    return [(one.severity, one.evidence[0].threshold_key.rpartition(".")[2]) for one in found]


GOOD = {60: Counts(0, 60), 5: Counts(0, 5), 360: Counts(0, 360), 30: Counts(0, 30)}
GOOD |= {4320: Counts(0, 4320)}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        # 1 of 60 minutes of 0.1 %: 16.7 times; of the last 5: 200 times.
        ({60: Counts(1, 60), 5: Counts(1, 5)}, [("critical", "fast_burn")]),
        # It has stopped: nothing in the last five minutes.
        ({60: Counts(1, 60)}, []),
        # 3 of 360: 8.3 times, of the last half hour 33 times.
        ({360: Counts(3, 360), 30: Counts(1, 30)}, [("critical", "steady_burn")]),
        # 5 of 4320: 1.2 times; 1 of 360: 2.8 times.
        ({4320: Counts(5, 4320), 360: Counts(1, 360)}, [("warning", "slow_burn")]),
        # 4 of 4320: 0.9 times.
        ({4320: Counts(4, 4320), 360: Counts(1, 360)}, []),
        # Too few minutes to judge.
        ({60: Counts(2, 4), 5: Counts(2, 4)}, []),
    ],
)
def test_both_windows_have_to_burn(changed: dict[int, Counts], expected: list[Any]) -> None:
    assert burn(GOOD | changed) == expected


def test_a_job_that_runs_burns_nothing() -> None:
    objective("availability")
    played(20, running_but(set()))
    record = ObjectiveRecord.objects.get()

    assert (record.burn, record.budget_left, record.is_good) == (0, 1, True)
    assert not Finding.objects.exists()


def test_restarts_burn_availability_until_the_job_runs_again() -> None:
    objective("availability")
    # 5 of the first 10 minutes: 50 times; then the short window is good again.
    played(10, running_but({5, 6, 7, 8, 9}))
    finding = Finding.objects.get()
    record = ObjectiveRecord.objects.get()

    assert (finding.rule, finding.state, finding.severity) == (
        "availability.objective",
        "open",
        "critical",
    )
    assert record.burn == pytest.approx(50 / 14.4)
    assert record.budget_left == pytest.approx(1 - 50)


def test_a_finding_closes_when_the_short_windows_are_good() -> None:
    objective("availability", target="90")
    played(40, running_but({5, 6, 7, 8, 9}))

    assert not Finding.objects.open().exists()


def test_a_recovery_point_that_is_too_old_burns_its_objective() -> None:
    objective("recovery_point", limit_s="300")
    played(
        12,
        lambda number, now: {"last_completed_at": AT - MINUTE},
    )
    record = ObjectiveRecord.objects.get()

    # Older than five minutes from the sixth minute on.
    assert [row[2] for row in record.minutes] == [0] * 5 + [1] * 7
    assert record.value_ms == 12 * 60_000
    assert Finding.objects.open().get().rule == "recovery_point.objective"


def test_a_recovery_point_within_its_limit_is_good() -> None:
    objective("recovery_point", limit_s="300")
    played(12, lambda number, now: {"last_completed_at": now - MINUTE})

    assert not Finding.objects.exists()


def test_checkpoints_that_fail_burn_their_objective_as_computed_by_hand() -> None:
    objective("checkpoints", target="95")
    cluster("prod", at=AT)
    row = job("prod", at=AT, name="orders")
    for number in range(10):
        ended = AT - timedelta(minutes=9 - number)
        outcome = "failed" if number in (3, 8) else "completed"
        fact(row, number, ended - MINUTE, end_time=ended, outcome=outcome)
    with time_machine.travel(AT, tick=False):
        evaluate(Guard(), AT)
        evaluate(Guard(), AT)
    record = ObjectiveRecord.objects.get()

    # 2 of 10 failed where 5 % may: 4 times; the last 5 minutes: 1 of 5, 4 times.
    assert sum(row[1] + row[2] for row in record.minutes) == 10
    assert record.burn == pytest.approx(4 / 14.4)
    # Three days are not judged by ten minutes.
    assert not Finding.objects.exists()


def test_old_records_burn_freshness() -> None:
    objective("freshness", limit_s="60")
    cluster("prod", at=AT)
    row = job("prod", at=AT, name="orders")
    for number in range(12):
        now = AT + number * MINUTE
        window(row, "v1", now - MINUTE, emit_lag_ms=90_000.0)
        with time_machine.travel(now, tick=False):
            Cluster.objects.update(last_collected_at=now, last_success_at=now)
            JobCurrent.objects.update(last_seen_at=now, judged_at=now)
            evaluate(Guard(), now)

    assert ObjectiveRecord.objects.get().value_ms == 90_000
    assert Finding.objects.open().get().rule == "freshness.objective"


def test_what_is_not_known_is_neither_good_nor_bad() -> None:
    for kind in ("availability", "recovery_point", "freshness"):
        objective(kind, limit_s="60")
    cluster("prod", at=AT - timedelta(hours=9))
    job("prod", at=AT - timedelta(hours=9), name="orders")
    with time_machine.travel(AT, tick=False):
        evaluate(Guard(), AT)

    assert {(row.is_good, row.burn) for row in ObjectiveRecord.objects.all()} == {(None, None)}


def test_an_objective_is_of_the_jobs_that_its_matchers_match() -> None:
    objective("availability", matchers='team="payments"\njob=~"orders.*"')
    cluster("prod", at=AT, labels={"team": "payments"})
    cluster("other", at=AT)
    for name, of in (("orders", "prod"), ("refunds", "prod"), ("orders", "other")):
        job(of, at=AT, name=name)
    with time_machine.travel(AT, tick=False):
        evaluate(Guard(), AT)

    assert list(ObjectiveRecord.objects.values_list("cluster", "job_name")) == [("prod", "orders")]


def test_a_finding_stays_that_of_the_job_under_a_new_id() -> None:
    objective("availability")
    first = played(10, running_but({5, 6, 7, 8, 9}))
    now = AT + 10 * MINUTE
    JobCurrent.objects.update(state="CANCELED", terminal=True, end_time=now)
    job("prod", at=now, name="orders", state="RESTARTING", start_time=now)
    with time_machine.travel(now, tick=False):
        evaluate(Guard(), now)

    finding = Finding.objects.open().get()
    assert finding.first_attempt_id == first.first_attempt_id
    assert ObjectiveRecord.objects.get().first_attempt_id == first.first_attempt_id


def test_hours_are_summed_once_they_are_over() -> None:
    minutes = [[minute, 1, 0] for minute in range(60 * 7)]
    hours = full_hours(minutes, 60 * 7)

    assert hours == [[hour, 60, 0] for hour in range(1, 7)]
    assert replace_rows([[1, 9, 9], [2, 1, 1]], [[2, 3, 0]], 2, 10) == [[1, 9, 9], [2, 3, 0]]
    sums = hour_sums([[hour, 59, 1] for hour in range(6)], 6)
    assert HourSums.from_json(json.loads(json.dumps(sums.to_json()))) == sums
    assert window_counts(minutes[-30:], sums, 60 * 7 - 1)[4320] == Counts(6, 6 * 60 + 30)


def test_hours_that_are_over_count_in_the_long_windows_and_the_budget() -> None:
    objective("availability", target="50")
    played(130, running_but(set(range(10))))
    record = ObjectiveRecord.objects.get()

    # Ten of 130 minutes were bad; half of them may be.
    assert record.budget_left == pytest.approx(1 - 10 / 130 / 0.5)
    assert sum(row[2] for row in record.hours) == 10 * 60


def started(row: JobCurrent, begun: datetime, seconds: float, kind: str = "restart") -> JobStart:
    running = begun + timedelta(seconds=seconds)
    ms = {"slots_ms": 0, "deploy_ms": 0, "held_up_ms": 0}
    return JobStart.objects.create(
        cluster=row.cluster,
        job_id=row.job_id,
        at=begun,
        kind=kind,
        begun_at=begun,
        deployed_at=begun,
        running_at=running,
        tasks=1,
        stragglers=0,
        reported_by="rest",
        detail={},
        as_of=running,
        **ms,
    )


def test_seconds_of_overlapping_spans_count_once_and_begun_seconds_whole() -> None:
    spans = [(50_000, 130_000), (60_000, 70_000), (130_000, 130_300), (250_000, 249_000)]
    assert by_minute(spans, 0) == {0: 10, 1: 60, 2: 11}
    assert by_minute(spans, 2) == {2: 11}


@pytest.mark.parametrize("played", ["1.20.5/slow-restore", "2.3.0/killed"])
def test_seconds_down_are_those_of_the_raw_log(played: str, tmp_path: Path) -> None:
    starts, marks = served_tables(FOLDER / played, tmp_path, JOB_START, JOB_ANNOTATION)
    JobStart.objects.bulk_create(JobStart(**row) for row in starts if row["kind"] != "start")
    JobAnnotation.objects.bulk_create(JobAnnotation(**row) for row in marks)
    raw = raw_outages(played)
    down_ms: Counter[int] = Counter()
    for outage in raw:
        for ms in range(outage.begun_ms, outage.ended_ms, 100):
            down_ms[ms // 60_000] += 100
    (found,) = down_seconds(raw[0].begun_ms // 60_000).values()

    assert len(raw) > 1
    assert found == pytest.approx({minute: ms / 1000 for minute, ms in down_ms.items()}, abs=2)


def test_restarts_between_two_samples_count_for_as_long_as_they_took() -> None:
    objective("availability")
    row = played(1, running_but(set()))
    minute = AT.replace(second=0)
    # 20 s in one minute; 50 s over two, of which no sample saw any; one that only a mark tells.
    started(row, minute + MINUTE * 2 + timedelta(seconds=35), 20)
    started(row, minute + MINUTE * 4 + timedelta(seconds=40), 50)
    least = {"began_at": (minute + 6 * MINUTE).isoformat(), "downtime_at_least_ms": 14_500}
    JobAnnotation.objects.create(
        cluster=row.cluster,
        job_id=row.job_id,
        at=minute + 6 * MINUTE,
        kind="restart",
        detail=least,
        as_of=AT,
    )
    for number in range(1, 12):
        evaluated(AT + number * MINUTE)
    record = ObjectiveRecord.objects.get()

    bad = {number - int(AT.timestamp() // 60): bad for number, _good, bad in record.minutes if bad}
    assert bad == {2: 20, 4: 20, 5: 30, 6: 15}
    # 85 of 720 seconds, where 1 % may be; nothing in the last five minutes.
    assert record.budget_left == pytest.approx(1 - 85 / 720 / 0.01)
    assert record.burn == 0


def evaluated(now: datetime) -> None:
    with time_machine.travel(now, tick=False):
        Cluster.objects.update(last_collected_at=now, last_success_at=now)
        JobCurrent.objects.update(last_seen_at=now, judged_at=now, as_of=now)
        evaluate(Guard(), now)


def test_a_minute_that_a_sample_saw_as_bad_is_bad_for_as_long_as_its_restart_took() -> None:
    objective("availability")
    row = played(11, running_but({5}))
    record = ObjectiveRecord.objects.get()
    assert sum(bad for *_, bad in record.minutes) == 60

    started(row, AT + 5 * MINUTE - timedelta(seconds=4), 9)
    evaluated(AT + 11 * MINUTE)
    record.refresh_from_db()
    assert sum(bad for *_, bad in record.minutes) == 9


def test_a_restart_that_is_known_after_its_hour_is_over_counts_in_the_long_windows() -> None:
    objective("availability")
    row = played(70, running_but(set()))
    started(row, AT + 40 * MINUTE, 30)
    evaluated(AT + 70 * MINUTE)

    assert ObjectiveRecord.objects.get().budget_left == pytest.approx(1 - 30 / (71 * 60) / 0.01)


def test_two_wrong_objectives_and_a_right_one_burn_as_computed_by_hand(viewer: Client) -> None:
    objective("availability", target="99")
    objective("recovery_point", target="90", limit_s="300")
    objective("checkpoints", target="95")
    row = played(12, lambda number, now: {"last_completed_at": AT - MINUTE})
    for number in range(12):
        ended = AT + number * MINUTE - timedelta(seconds=20)
        fact(row, number, ended - MINUTE, end_time=ended, outcome="completed")
    # Down for 6 of the last 12 minutes: of the last five minutes for all.
    started(row, AT.replace(second=0) + 6 * MINUTE, 360)
    evaluated(AT + 11 * MINUTE + timedelta(seconds=20))
    found = {record.objective.kind: record for record in ObjectiveRecord.objects.all()}

    # 360 of 720 seconds over 1 %; the recovery point is too old in 7 of 12 minutes, over 10 %.
    assert found["availability"].burn == pytest.approx(0.5 / 0.01 / 14.4)
    assert found["recovery_point"].burn == pytest.approx(7 / 12 / 0.1 / 14.4)
    assert found["checkpoints"].burn == 0
    left = {kind: record.budget_left for kind, record in found.items()}
    assert left == pytest.approx(
        {"availability": 1 - 50, "recovery_point": 1 - 7 / 1.2, "checkpoints": 1}
    )
    # Six times as fast over six hours is not judged by twelve minutes.
    assert [one.rule for one in Finding.objects.open()] == ["availability.objective"]
    row.refresh_from_db()
    assert (row.burn, row.burn_over_min) == (found["availability"].burn, 60)
    assert "▲ 3.47 ×</b><small>1 h</small>" in viewer.get("/objectives/").content.decode()


def test_the_fleet_and_its_findings_are_ranked_by_the_objective_that_burns(
    viewer: Client,
) -> None:
    now = timezone.now()
    cluster("prod", at=now)
    for name, burn in (("calm", 0.0), ("none", None), ("burns", 3.472)):
        row = job("prod", at=now, name=name, burn=burn, burn_over_min=burn and 60)
        finding(row, at=now, title=f"of {name}", severity="critical" if name == "calm" else "info")
    page = viewer.get("/", {"sort": "-burn"})
    jobs = viewer.get("/api/v1/jobs/", {"sort": "-burn"}).json()["results"]

    assert [shown[0].name for shown in page.context["rows"]] == ["burns", "calm", "none"]
    assert [one["burn"] for one in jobs] == [3.472, 0.0, None]
    ranked = viewer.get("/findings/", {"sort": "burn"})
    assert [str(one[0].title) for one in ranked.context["rows"]] == [
        "of burns",
        "of calm",
        "of none",
    ]


def test_no_job_burns_an_objective_that_is_removed_or_of_which_it_is_no_more(
    operator: Client,
) -> None:
    row = objective("availability")
    played(10, running_but({5, 6, 7, 8, 9}))
    now = AT + 10 * MINUTE
    assert JobCurrent.objects.get().burn == pytest.approx(50 / 14.4)
    JobCurrent.objects.update(state="CANCELED", terminal=True, end_time=now)
    evaluated(now)
    assert JobCurrent.objects.get().burn is None

    JobCurrent.objects.update(burn=1.0, burn_over_min=60)
    operator.post(f"/objectives/{row.pk}/remove")
    Finding.objects.all().delete()
    assert is_wanted()
    evaluated(now)
    assert JobCurrent.objects.get().burn is None and not is_wanted()


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"target": "100"}, "target"),
        ({"target": "nan"}, "target"),
        ({"kind": "luck"}, "kind"),
        ({"name": ""}, "name"),
        ({"kind": "freshness", "limit_s": "0"}, "limit_s"),
        ({"matchers": "no matcher"}, "matchers"),
    ],
)
def test_what_makes_no_sense_is_refused(changed: dict[str, str], where: str) -> None:
    values = {"name": "a", "kind": "availability", "target": "99.9", **changed}
    with pytest.raises(InputRefused) as refused:
        set_objective(values, "olga", AT)
    assert where in refused.value.fields


def test_operators_set_and_remove_objectives_on_the_page(operator: Client) -> None:
    form = {"name": "all", "kind": "availability", "target": "99.9", "matchers": ""}
    operator.post("/objectives/set", form)
    row = Objective.objects.get()
    page = operator.get("/objectives/")

    assert row.target == 0.999
    assert [objective.name for objective, _, _ in page.context["objectives"]] == ["all"]
    operator.post(f"/objectives/{row.pk}/remove")
    assert not Objective.objects.exists()


def test_viewers_change_nothing(viewer: Client) -> None:
    form = {"name": "all", "kind": "availability", "target": "99.9"}
    assert viewer.post("/objectives/set", form).status_code == 403
    assert viewer.get("/objectives/").status_code == 200
    assert not Objective.objects.exists()


def test_the_api_lists_records_without_their_series(viewer: Client) -> None:
    objective("availability")
    played(2, running_but(set()))
    (record,) = viewer.get("/api/v1/objective-records/?objective=availability").json()["results"]

    assert (record["objective"], record["job_name"], record["budget_left"]) == (
        "availability",
        "orders",
        1.0,
    )
    assert "minutes" not in record
    assert viewer.get("/api/v1/objectives/").json()["results"][0]["target"] == 0.99


def test_what_is_promised_of_other_clusters_is_shown_to_nobody_who_does_not_see_them(
    viewer: Client,
) -> None:
    user = User.objects.get(pk=viewer.session["_auth_user_id"])
    user.sees = [[{"label": "cluster", "operator": "=", "value": "prod"}]]
    user.save()
    objective("freshness", limit_s="60", matchers='cluster=~"prod|their-secret"\njob=~"secret.*"')
    objective("availability", matchers='cluster=~"prod|their-secret"')
    played(2, running_but(set()))
    texts = [viewer.get(path).content.decode() for path in ("/objectives/", "/api/v1/objectives/")]

    assert not any("secret" in text for text in texts)
    assert "orders" in texts[0] and "99 %" in texts[0]
