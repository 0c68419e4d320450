"""Sliders on thresholds with their preview on the past, and the advice from a job's own history."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import Observed, VertexMetrics
from spark_jobs.diagnosis.registry import all_rules
from tests.webapp.builders import cluster, expired, fact, job, unsaved_fact, window
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding, FindingOccurrence, ThresholdOverride

pytestmark = pytest.mark.django_db
MINUTES = 30


@pytest.fixture
def now():
    at = timezone.now().replace(microsecond=0)
    cluster(at=at)
    return at


@pytest.fixture
def lake(home):
    return Lake(str(home / "lake"))


@pytest.fixture
def of(now):
    return job(at=now, checkpoint_timeout_ms=4_000)


@pytest.fixture
def held(of, now, lake):
    """Half an hour in which slow-enrich back-pressures the job."""
    does = {
        "v1": (20.0, 950.0, None, 0.95),
        "v2": (40.0, 930.0, 0.9, 0.95),
        "v3": (980.0, 0.0, 0.95, 0.17),
        "v4": (30.0, 0.0, 0.01, None),
    }
    records = tuple(
        VertexMetrics(
            job_id=of.job_id,
            vertex_id=vertex,
            ts=now - timedelta(minutes=minute, seconds=second),
            parallelism=2,
            busy_ms_per_s=(busy, busy),
            backpressured_ms_per_s=(waits, waits),
            idle_ms_per_s=(1000 - busy - waits,) * 2,
            in_pool_usage=None if inputs is None else (inputs, inputs),
            out_pool_usage=None if outputs is None else (outputs, outputs),
            records_in_per_s=(400.0, 400.0),
            records_out_per_s=(400.0, 400.0),
            task_state=("RUNNING", "RUNNING"),
        )
        for vertex, (busy, waits, inputs, outputs) in does.items()
        for minute in range(1, MINUTES)
        for second in (0, 20)
    )
    lake.append([Observed(of.cluster, now, "rest", records)])
    return of


def url(of, rule="pressure.root"):
    return reverse("what-if", args=(of.cluster, of.job_id, rule))


def test_the_past_is_judged_with_the_thresholds_in_force(viewer, held):
    answer = viewer.get(url(held))
    (fired,) = answer.context["now_outcome"].fired
    assert fired.finding.subject == "slow-enrich"
    assert answer.context["now_outcome"].minutes == answer.context["judged_minutes"] >= MINUTES - 1
    assert "1 time" in answer.content.decode()


def test_a_moved_threshold_changes_when_it_would_have_fired(viewer, held):
    answer = viewer.get(url(held), {"pressure.root.backpressured_ratio": "0.99"})
    assert len(answer.context["now_outcome"].fired) == 1
    assert len(answer.context["then_outcome"].fired) == 0
    assert "It would not have fired" in answer.content.decode()


def test_nothing_is_changed_by_looking(viewer, held):
    viewer.get(url(held), {"pressure.root.backpressured_ratio": "0.99"})
    assert (
        not Finding.objects.exists()
        and not FindingOccurrence.objects.exists()
        and not ThresholdOverride.objects.exists()
    )


def test_htmx_gets_the_preview_only(viewer, held):
    part = viewer.get(url(held), headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<section class="panel preview"')


@pytest.mark.parametrize("text", ["7", "-1", "nan", "inf", "<script>", "1e999"])
def test_a_value_out_of_bounds_is_refused_in_words(viewer, held, text):
    page = viewer.get(url(held), {"pressure.root.backpressured_ratio": text}).content.decode()
    assert "must be a number from" in page
    assert "<script>7" not in page and "&lt;script&gt; must" not in page


def test_an_override_in_force_is_where_the_slider_starts(viewer, held):
    ThresholdOverride.objects.create(
        key="pressure.root.backpressured_ratio", value=0.7, cluster=held.cluster
    )
    slider = next(
        s
        for s in viewer.get(url(held)).context["sliders"]
        if s.threshold.key == "pressure.root.backpressured_ratio"
    )
    assert (slider.value, slider.in_force_words, slider.is_moved) == (0.7, "70 %", False)


def test_rules_about_checkpoints_need_no_samples(viewer, of, now, lake):
    for number in range(5):
        expired(of, number, now - timedelta(minutes=20 - number))
    outcome = viewer.get(url(of, "checkpoint.expired")).context["now_outcome"]
    assert [one.finding.rule for one in outcome.fired] == ["checkpoint.expired"]


def test_without_any_past_it_says_so(viewer, of, lake):
    CheckpointFact.objects.all().delete()
    assert "Nothing to judge" in viewer.get(url(of)).content.decode()


def test_a_lake_that_cannot_be_read_leaves_the_sliders(viewer, of, lake, tmp_path):
    broken = tmp_path / "lake" / "vertex_metrics" / "_delta_log"
    broken.mkdir(parents=True)
    (broken / "00000000000000000000.json").write_text("{half")
    page = viewer.get(url(of)).content.decode()
    assert "The lake could not be read" in page and 'type="range"' in page


def test_every_rule_that_judges_minutes_of_a_job_can_be_tried(viewer, of, now, lake):
    fact(of, 1, now - timedelta(minutes=3))
    window(of, "v3", now - timedelta(minutes=2))
    of_other_runs = (
        "collect.",
        "storage.",
        "replication.",
        "namenode.",
        "weir.",
    )
    for rule_id in all_rules():
        is_of_other_runs = rule_id.startswith(of_other_runs) or rule_id.endswith(".objective")
        assert viewer.get(url(of, rule_id)).status_code == (404 if is_of_other_runs else 200), (
            rule_id
        )


def test_the_query_count_of_a_preview_is_constant(
    viewer, of, now, lake, django_assert_max_num_queries
):
    CheckpointFact.objects.bulk_create(
        [unsaved_fact(of, n, now - timedelta(minutes=n)) for n in range(600)]
    )
    with django_assert_max_num_queries(24):
        viewer.get(url(of, "checkpoint.expired"))


def advice(client, of, **parameters):
    return client.get(reverse("job-advice", args=(of.cluster, of.job_id)), parameters)


def test_little_history_gives_no_advice_but_says_why(viewer, of, now):
    fact(of, 1, now)
    page = advice(viewer, of).content.decode()
    assert "1 of at least 100 completed checkpoints" in page


def test_a_long_history_gives_interval_pause_and_time_out(viewer, of, now):
    CheckpointFact.objects.bulk_create(
        [unsaved_fact(of, n, now - timedelta(minutes=n)) for n in range(1, 200)]
    )
    fact(of, 999, now, is_savepoint=True, end_to_end_ms=40_000)
    answer = advice(viewer, of)
    settings_of = {row.name: (row.now, row.advised) for row in answer.context["advice"].settings}
    assert settings_of["Interval"] == ("1 min", "1 min")
    assert settings_of["Time-out of checkpoints and savepoints"] == ("4.0 s", "2 min")
    assert (
        "it would have failed 0 of 199 completed checkpoints and 0 of 1 completed savepoint"
        in answer.content.decode()
    )


def test_a_recovery_time_target_and_the_fleets_minimum_are_heeded(viewer, of, now):
    CheckpointFact.objects.bulk_create(
        [unsaved_fact(of, n, now - timedelta(minutes=n)) for n in range(1, 200)]
    )

    def interval(**asked):
        return advice(viewer, of, **asked).context["advice"].settings[0].advised

    assert [interval(target=seconds) for seconds in ("", "90", "40", "x", "0", "999999")] == [
        "1 min",
        "1 min",
        "30 s",
        "1 min",
        "1 min",
        "1 min",
    ]
    ThresholdOverride.objects.create(
        key="checkpoint.too_frequent.fleet_minimum_interval_s", value=120, cluster=of.cluster
    )
    assert interval() == interval(target="40") == "2 min"


def test_an_operator_saves_what_was_tried_for_the_scope_that_was_chosen(operator, viewer, held):
    moved = {"pressure.root.backpressured_ratio": "0.9"}
    assert "Judge by these from now on" not in viewer.get(url(held), moved).content.decode()
    page = operator.get(url(held), moved).content.decode()
    assert (
        "Judge by these from now on" in page
        and 'name="pressure.root.backpressured_ratio" value="0.9"' in page
    )
    given = {
        "cluster": held.cluster,
        "job_id": held.job_id,
        "rule": "pressure.root",
        "scope": "cluster",
        **moved,
    }
    operator.post(reverse("threshold-save"), given)
    assert list(ThresholdOverride.objects.values_list("value", "cluster", "job_id")) == [
        (0.9, held.cluster, "")
    ]
    slider = next(
        s
        for s in viewer.get(url(held)).context["sliders"]
        if s.threshold.key == "pressure.root.backpressured_ratio"
    )
    assert slider.in_force == 0.9
