"""restart.rescale_loop, apart from restart.loop."""

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.samples import Annotation, JobStart
from tests.diagnosis.jobs import LIMITS, checkpoint, failure, ms, restart, window

RULES = ["restart.rescale_loop", "restart.loop"]


def judged(instants, *, failures=(), rescaled=True, at=1_500):
    changes = [
        Annotation(ms(at_s + 20), "rescale", "enrich", {"from": 2, "to": 2 + index % 2})
        for index, at_s in enumerate(instants)
        if rescaled
    ]
    story = window(
        *(checkpoint(number, at_s + 60) for number, at_s in enumerate(instants, 1)),
        annotations=tuple(sorted([*map(restart, instants), *changes], key=lambda one: one.at_ms)),
        starts=tuple(JobStart(ms(at_s), "rescale", ms(at_s + 9), 9_000) for at_s in instants),
        failures=failures,
        at=at,
    )
    return registry.diagnose(story, LIMITS, only=RULES).findings


def test_rescales_without_a_failure_are_a_loop_with_their_sizes_and_the_time_lost():
    (finding,) = judged((0, 300, 600, 900))
    assert finding.rule == "restart.rescale_loop"
    assert [one.value for one in finding.evidence] == [4, 36_000]
    assert finding.data["sizes"] == ["2", "3", "2", "3"]


def test_three_rescales_or_four_in_hours_are_none():
    assert not judged((0, 300, 600))
    assert not judged((0, 1_500, 3_000, 4_500), at=4_600)


def test_restarts_by_failures_are_no_rescale_loop():
    instants = (900, 1_000, 1_100, 1_200)
    failures = tuple(failure(at_s - 0.5, "java.lang.IllegalStateException: x") for at_s in instants)
    found = judged(instants, failures=failures, rescaled=False, at=1_300)
    assert [finding.rule for finding in found] == ["restart.loop"]
