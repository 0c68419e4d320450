"""Any order of runs, any repetition: the same findings."""

import json
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.attacks.scale import examples
from tests.webapp.pipeline.runs import job, row
from webapp.findings.job_judgements import forget_unseen
from webapp.findings.loading import FindingLoad
from webapp.findings.models import Finding, FindingOccurrence, JobJudgement
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobCurrent
from webapp.pipeline.table_models import SERVED
from webapp.work.upserts import upsert

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
JOB = "a" * 32
RULE = "no.such.rule"
"""A rule nobody knows holds for the default time: three minutes."""

Row = dict[str, Any]


class Guard:
    def writing(self) -> Any:
        return nullcontext()


def minute(number: float) -> datetime:
    return AT + timedelta(minutes=number)


def occurrence(
    number: int, subject: str = "v", seen_at: datetime | None = None, **fields: Any
) -> Row:
    """Seen in the window of this minute, at its end unless said otherwise."""
    seen = seen_at or minute(number + 1)
    texts = {
        "title": f"in window {number}",
        "severity": "warning",
        "confidence": "high",
        "evidence": "[]",
        "related": "[]",
        "data": "{}",
    }
    key = {
        "cluster": "c",
        "job_id": JOB,
        "rule": RULE,
        "subject_id": subject,
        "window_start": minute(number),
    }
    return row(
        "finding_occurrence",
        **{
            **key,
            "began_at": seen,
            "seen_at": seen,
            "as_of": minute(number + 1),
            **texts,
            **fields,
        },
    )


def judgement(first: int, last: int, job_id: str = JOB) -> Row:
    runs = [{"first": int(minute(first).timestamp()), "last": int(minute(last).timestamp())}]
    judged_to = minute(last + 1)
    return row(
        "job_judgement",
        cluster="c",
        job_id=job_id,
        judged_to=judged_to,
        as_of=judged_to,
        windows=json.dumps(runs),
        unknowns="[]",
    )


def load(
    judgements: Sequence[Row], occurrences: Iterable[Row] = (), jobs: Sequence[Row] = ()
) -> None:
    """As the loader does, without files."""
    findings = FindingLoad(Guard(), lambda line: None)
    for name, rows in (
        ("job_current", list(jobs)),
        ("job_judgement", list(judgements)),
        ("finding_occurrence", list(occurrences)),
    ):
        findings.before(name, rows)
        upsert(SERVED[name].table, SERVED[name].model, rows, SERVED[name].derived)
        if (after_load := SERVED[name].after_load) is not None:
            after_load(rows)
    findings.finish([judgements])


def found() -> list[tuple[Any, ...]]:
    names = ("subject_id", "first_seen", "last_seen", "state", "closed_at", "title")
    return sorted(
        (
            name,
            *((at - AT).total_seconds() / 60 if at else None for at in (first, last)),
            state,
            closed and (closed - AT),
            title,
        )
        for name, first, last, state, closed, title in Finding.objects.values_list(*names)
    )


@pytest.fixture
def recording(db: None) -> None:
    Cluster.objects.get_or_create(
        name="c", defaults={"kind": ClusterKind.RECORDING, "enabled": False}
    )


pytestmark = pytest.mark.usefixtures("recording")


def test_sights_close_together_are_one_finding_with_the_newest_words() -> None:
    load([judgement(0, 2)], [occurrence(0), occurrence(1), occurrence(2)])
    assert found() == [("v", 1, 3, "open", None, "in window 2")]


def test_a_pause_longer_than_the_hold_time_begins_another() -> None:
    load([judgement(0, 9)], [occurrence(0), occurrence(9)])
    assert found() == [
        ("v", 1, 1, "closed", timedelta(minutes=4), "in window 0"),
        ("v", 10, 10, "open", None, "in window 9"),
    ]


def test_a_finding_closes_when_its_job_was_judged_for_long_without_a_sight() -> None:
    load([judgement(0, 0)], [occurrence(0)])
    load([judgement(1, 3)])
    assert [state for _, _, _, state, _, _ in found()] == ["open"]
    load([judgement(4, 4)])
    assert [state for _, _, _, state, _, _ in found()] == ["closed"]


def test_the_end_of_a_job_closes_its_findings() -> None:
    load(
        [judgement(0, 0)],
        [occurrence(0)],
        [job(JOB, terminal=True, state="CANCELED", end_time=minute(2), as_of=minute(2))],
    )
    assert found() == [("v", 1, 1, "closed", timedelta(minutes=2), "in window 0")]


def test_a_window_judged_again_takes_its_sights_back() -> None:
    load([judgement(0, 1)], [occurrence(0), occurrence(1)])
    load([judgement(0, 1)], [occurrence(0)])
    assert found() == [("v", 1, 1, "open", None, "in window 0")]
    load([judgement(0, 0)])
    assert (found(), FindingOccurrence.objects.count()) == ([], 0)


def test_a_window_taken_from_the_middle_parts_a_finding() -> None:
    load([judgement(0, 8)], [occurrence(number) for number in range(9)])
    load([judgement(2, 6)])
    assert [(first, last) for _, first, last, *_ in found()] == [(1, 2), (8, 9)]


def test_a_late_run_joins_two_findings_and_keeps_the_number_of_the_first() -> None:
    load([judgement(0, 0)], [occurrence(0)])
    number = Finding.objects.get().pk
    load([judgement(5, 5)], [occurrence(5)])
    load([judgement(2, 3)], [occurrence(2), occurrence(3)])
    assert [(first, last) for _, first, last, *_ in found()] == [(1, 6)]
    assert Finding.objects.get().pk == number


def test_a_finding_keeps_its_number_while_its_only_minute_runs_and_is_told_of_later_instants() -> (
    None
):
    """As a decline after a decline within one minute is: links that were sent of the first lead to
    what is known now.
    """
    began = minute(0.2)
    load([judgement(0, 0)], [occurrence(0, seen_at=began, began_at=began)])
    number = Finding.objects.get().pk
    for seen in (0.5, 0.9):
        load([judgement(0, 0)], [occurrence(0, seen_at=minute(seen), began_at=began)])
        assert [(first, last) for _, first, last, *_ in found()] == [(0.2, seen)]
    assert Finding.objects.get().pk == number


def test_of_two_episodes_that_one_became_the_one_that_overlaps_it_keeps_its_number() -> None:
    load([judgement(0, 8)], [occurrence(number) for number in range(2, 9)])
    number = Finding.objects.get().pk
    load([judgement(0, 6)], [occurrence(0)])
    assert [one.pk == number for one in Finding.objects.order_by("first_seen")] == [False, True]


def test_an_event_seen_from_several_windows_is_told_by_the_first() -> None:
    load([judgement(0, 2)], [occurrence(number, seen_at=minute(0.5)) for number in range(3)])
    assert found() == [("v", 0.5, 0.5, "open", None, "in window 0")]


def test_what_a_killed_process_took_away_is_folded_by_the_next() -> None:
    load([judgement(0, 1)], [occurrence(0), occurrence(1)])
    killed = FindingLoad(Guard(), lambda line: None)
    killed.before("job_judgement", [judgement(1, 1)])
    FindingLoad(Guard(), lambda line: None).finish([])
    assert [(first, last) for _, first, last, *_ in found()] == [(1, 1)]


def test_purged_sights_do_not_shorten_a_finding() -> None:
    Cluster.objects.update(kind=ClusterKind.LIVE)
    load([judgement(0, 5)], [occurrence(number) for number in range(6)])
    FindingOccurrence.objects.all().delete()
    load([judgement(6, 6)], [occurrence(6)])
    assert [(first, last) for _, first, last, *_ in found()] == [(1, 7)]


def test_health_comes_with_the_judgement_and_goes_with_the_job() -> None:
    load([judgement(0, 0)], [], [job(JOB, as_of=AT)])
    judged = JobCurrent.objects.get()
    assert (judged.health, judged.health_state, judged.judged_at) == (100, "judged", minute(1))
    load([judgement(1, 1)], [], [job(JOB, terminal=True, state="FINISHED", as_of=minute(2))])
    ended = JobCurrent.objects.get()
    assert (ended.health, ended.health_state) == (None, "ended")


def test_what_was_found_of_a_job_that_is_listed_no_more_closes_when_it_was_listed_last() -> None:
    runs = job(JOB, as_of=minute(2))
    load([judgement(0, 1)], [occurrence(0), occurrence(1)], [runs])
    assert JobCurrent.objects.get().health_state == "judged"
    missed = runs | {"state": "NOT_LISTED", "end_time": minute(2.5), "as_of": minute(4)}
    load([judgement(2, 2)], [], [missed])
    row = JobCurrent.objects.get()
    assert (row.health, row.health_state, row.terminal) == (None, "ended", False)
    assert row.worst_finding_points > 0
    assert Finding.objects.get().closed_at == minute(2.5)


def test_health_of_a_job_that_is_listed_no_more_is_over_without_a_judgement_too() -> None:
    runs = job(JOB, as_of=minute(2))
    load([judgement(0, 1)], [occurrence(1)], [runs])
    load([], [], [runs | {"state": "NOT_LISTED", "end_time": minute(2), "as_of": minute(4)}])
    forget_unseen(minute(5))
    row = JobCurrent.objects.get()
    assert (row.health, row.health_state) == (None, "ended")
    assert Finding.objects.get().state == "closed"


def test_a_job_that_is_listed_again_has_its_findings_and_its_health_again() -> None:
    runs = job(JOB, as_of=minute(2))
    load([judgement(0, 1)], [occurrence(1)], [runs])
    number = Finding.objects.get().pk
    load([], [], [runs | {"state": "NOT_LISTED", "end_time": minute(2), "as_of": minute(4)}])
    load([judgement(4, 4)], [occurrence(4)], [runs | {"as_of": minute(5)}])
    row, finding = JobCurrent.objects.get(), Finding.objects.get()
    assert row.health_state == "judged" and row.health < 100
    assert (finding.pk, finding.state) == (number, "open")


def test_a_job_that_ended_keeps_what_its_worst_finding_took() -> None:
    ended = job(JOB, terminal=True, state="CANCELED", end_time=minute(3), as_of=minute(3))
    bad = occurrence(1, "w", severity="critical", confidence="low", title="worse")
    wasted = occurrence(1, rule="storage.orphans", severity="critical")
    load([judgement(0, 1)], [occurrence(0), bad, wasted], [ended])
    assert JobCurrent.objects.get().worst_finding_points == 15
    load([], [], [ended | {"as_of": minute(9)}])
    assert JobCurrent.objects.get().worst_finding_points == 15


windows = st.dictionaries(
    st.integers(0, 40), st.sets(st.sampled_from(["v", "w"])), min_size=1, max_size=25
)


class AnyOrder(TestCase):
    """Each window is judged by some run; runs come in any order, some again."""

    @given(said=windows, draw=st.data())
    @settings(max_examples=examples(10, 60), deadline=None)
    def test_the_findings_are_those_of_one_run_over_everything(
        self, said: dict[int, set[str]], draw: Any
    ) -> None:
        def load_window(number: int) -> None:
            load(
                [judgement(number, number)],
                [occurrence(number, subject) for subject in sorted(said[number])],
            )

        order = draw.draw(st.permutations(sorted(said)))
        again = draw.draw(st.lists(st.sampled_from(order), max_size=5))
        for number in [*order, *again]:
            load_window(number)
        piecewise = found()
        for model in (Finding, FindingOccurrence, JobJudgement):
            model.objects.all().delete()
        whole = row(
            "job_judgement",
            cluster="c",
            job_id=JOB,
            judged_to=minute(max(said) + 1),
            as_of=minute(max(said) + 1),
            unknowns="[]",
            windows=json.dumps(
                [json.loads(judgement(number, number)["windows"])[0] for number in sorted(said)]
            ),
        )
        load([whole], [occurrence(number, subject) for number in said for subject in said[number]])
        assert piecewise == found()

    @given(first=windows, second=windows)
    @settings(max_examples=examples(10, 60), deadline=None)
    def test_windows_judged_anew_leave_nothing_of_what_they_said_before(
        self, first: dict[int, set[str]], second: dict[int, set[str]]
    ) -> None:
        for said in (first, second):
            for number in sorted(said):
                load(
                    [judgement(number, number)],
                    [occurrence(number, subject) for subject in said[number]],
                )
        after = found()
        for model in (Finding, FindingOccurrence, JobJudgement):
            model.objects.all().delete()
        for number, subjects in sorted((first | second).items()):
            load([judgement(number, number)], [occurrence(number, subject) for subject in subjects])
        assert after == found()


def test_what_ended_a_job_for_good_stays_open_when_the_job_has_ended() -> None:
    ended = job(JOB, as_of=minute(2)) | {
        "state": "FAILED",
        "terminal": True,
        "end_time": minute(1.5),
    }
    load(
        [judgement(0, 1)],
        [occurrence(1), occurrence(1, rule="job.failed")],
        [ended],
    )
    assert dict(Finding.objects.values_list("rule", "state"))["job.failed"] == "open"
    assert Finding.objects.exclude(rule="job.failed").get().state == "closed"
    assert JobCurrent.objects.get().health_state == "ended"
