"""Whatever the shape of a job, its planted bottleneck is named or nobody is."""

from dataclasses import replace
from random import Random

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import CONFIDENCES, Diagnosis
from spark_jobs.diagnosis.samples import JobWindow
from tests.attacks.scale import examples
from tests.diagnosis.graphs import LIMITS
from tests.diagnosis.physics import (
    METRICS,
    Weather,
    observed,
    plant,
    random_job,
    vertex_id,
    with_gaps,
    with_silent_subtasks,
    with_silent_taskmanagers,
)

PRESSURE = ("pressure.root", "pressure.outbound", "pressure.skew")
NOTHING = (*PRESSURE, "data.skew", "watermark.stalled")

seeds = st.integers(0, 2**32)
shapes = st.tuples(st.integers(2, 200), st.sampled_from((1, 2, 8, 64, 512, 5000)))
weathers = st.builds(
    Weather,
    overloaded=st.floats(0.65, 1.0),
    crowded=st.sampled_from((0.3, 0.8)),
    taskmanagers=st.sampled_from((1, 2, 4, 16)),
    scattered=st.booleans(),
    before_1_13=st.booleans(),
)
often = settings(
    max_examples=examples(30, 200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def planted(seed: int, shape: tuple[int, int], weather: Weather) -> tuple[JobWindow, str]:
    """A window with everything reported, and the id of its origin."""
    chance = Random(seed)
    job = random_job(chance, *shape)
    while not plant(chance, job):
        job = random_job(chance, *shape)
    assert job.origin is not None
    return observed(chance, job, weather), vertex_id(job.origin)


def judged(window: JobWindow) -> Diagnosis:
    return registry.diagnose(window, LIMITS, PRESSURE)


def roots(diagnosis: Diagnosis) -> dict[str, str]:
    """Vertex id → confidence."""
    return {
        one.subject_id: one.confidence for one in diagnosis.findings if one.rule == "pressure.root"
    }


def is_unknown(diagnosis: Diagnosis) -> bool:
    return any(
        one.rule == "pressure.root" and "broke" not in one.missing for one in diagnosis.unknowns
    )


@often
@given(seeds, shapes, weathers)
def test_the_origin_is_named_or_unknown(seed, shape, weather):
    window, origin = planted(seed, shape, weather)
    diagnosis = judged(window)
    assert set(roots(diagnosis)) <= {origin}
    assert origin in roots(diagnosis) or is_unknown(diagnosis)


# Two subtasks of a busy vertex wait for one that tells nothing: they hold its producer, not those
# that are busy and never wait.
@example(
    886643797,
    (200, 5000),
    Weather(overloaded=1.0, taskmanagers=1, scattered=True),
    0.375,
    with_gaps,
)
# A third of its subtasks waits, which none of them told; the others are busy and never wait, as the
# rest of their time shows.
@example(
    886643797,
    (200, 5000),
    Weather(overloaded=1.0, taskmanagers=1, scattered=True),
    0.40234375,
    with_gaps,
)
@often
@given(
    seeds,
    shapes,
    weathers,
    st.floats(0.02, 0.6),
    st.sampled_from((with_gaps, with_silent_subtasks, with_silent_taskmanagers)),
)
def test_where_metrics_are_missing_the_origin_is_named_or_unknown(seed, shape, weather, gaps, lose):
    window, origin = planted(seed, shape, weather)
    diagnosis = judged(lose(Random(seed), window, gaps))
    assert set(roots(diagnosis)) <= {origin}
    assert origin in roots(diagnosis) or is_unknown(diagnosis)
    assert not [one for one in diagnosis.findings if one.rule == "pressure.outbound"]
    assert all("broke" not in one.missing for one in diagnosis.unknowns)


@often
@given(seeds, shapes, weathers, st.floats(0.02, 0.4))
def test_more_evidence_never_lowers_confidence_in_the_origin(seed, shape, weather, gaps):
    window, origin = planted(seed, shape, weather)
    less = roots(judged(with_gaps(Random(seed), window, gaps)))
    if origin in less:
        more = roots(judged(window))
        assert CONFIDENCES.index(more[origin]) >= CONFIDENCES.index(less[origin])


@often
@given(seeds, shapes, weathers)
def test_a_job_in_which_nobody_waits_has_no_finding_about_pressure(seed, shape, weather):
    chance = Random(seed)
    window = observed(chance, random_job(chance, *shape), weather)
    assert judged(window) == Diagnosis()


@often
@given(seeds, shapes, weathers)
def test_no_rule_fires_on_no_data(seed, shape, weather):
    window, _origin = planted(seed, shape, weather)
    empty = tuple(replace(one, **dict.fromkeys(METRICS, ())) for one in window.vertex_windows)
    for nothing in (replace(window, vertex_windows=()), replace(window, vertex_windows=empty)):
        assert not registry.diagnose(nothing, LIMITS, NOTHING).findings


@st.composite
def sketched(draw: st.DrawFn) -> tuple[JobWindow, str]:
    """Figures that agree less than a real cluster's: every subtask's drawn by itself, only the
    roles are kept.
    """
    chance = Random(draw(seeds))
    job = random_job(chance, draw(st.integers(2, 60)), draw(st.sampled_from((1, 3, 16))))
    while not plant(chance, job):
        job = random_job(chance, 6, 4)
    missing, few = draw(st.sampled_from((0.0, 0.1, 0.4))), chance.random() < 0.4
    upstream, waiting = set(), [job.origin]
    while waiting:
        here = waiting.pop()
        above = {source for source, target, _strategy in job.edges if target == here} - upstream
        upstream |= above
        waiting += above

    def known(value: float) -> float | None:
        return None if chance.random() < missing else value

    def one(vertex: int, subtask: int) -> tuple[float | None, ...]:
        if vertex == job.origin and (subtask == 0 or not few):
            busy = chance.uniform(0.6, 1)
            waits = chance.uniform(0, 0.1)
            full = chance.uniform(0.5, 1)
        elif vertex in upstream:
            busy = chance.uniform(0, 0.3)
            waits = chance.uniform(0.6, 1)
            full = chance.uniform(0.5, 1)
        else:
            busy = chance.uniform(0, 0.45)
            waits = chance.uniform(0, 0.05)
            full = chance.uniform(0, 0.15)
        local = 0.0 if vertex % 3 == 0 else full
        return (
            known(busy),
            known(waits),
            known(max(0.0, 1 - busy - waits)),
            known(local),
            known(local),
            known(0.9 if vertex in upstream else 0.2),
        )

    window = observed(chance, job, Weather())
    kept = []
    for index, vertex in enumerate(window.vertex_windows):
        rows = zip(
            *(one(index, subtask) for subtask in range(vertex.parallelism or 0)), strict=True
        )
        names = (
            "busy_ratio",
            "backpressured_ratio",
            "idle_ratio",
            "in_pool_usage",
            "floating_usage",
            "out_pool_usage",
        )
        if chance.random() >= missing / 2:
            kept.append(
                replace(
                    vertex,
                    **dict(zip(names, rows, strict=True)),
                    taskmanager_id=(),
                    host=(),
                )
            )
    assert job.origin is not None
    return replace(window, vertex_windows=tuple(kept)), vertex_id(job.origin)


@often
@given(sketched())
def test_figures_that_hardly_agree_lead_to_the_origin_or_to_unknown(drawn):
    window, origin = drawn
    diagnosis = judged(window)
    assert set(roots(diagnosis)) <= {origin}
    assert origin in roots(diagnosis) or is_unknown(diagnosis)
    assert not [one for one in diagnosis.findings if one.rule == "pressure.outbound"]


def test_with_everything_reported_most_origins_are_named():
    weather = Weather(overloaded=0.9, taskmanagers=4, scattered=True)
    named = sum(bool(roots(judged(planted(seed, (12, 8), weather)[0]))) for seed in range(100))
    assert named >= 95
