"""Findings of one cause are one incident, whatever the order in which they become known."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.consequences import CONSEQUENCES
from spark_jobs.diagnosis.incidents import (
    IncidentFinding,
    Trace,
    belong_together,
    cause_of,
    in_order_of_cause,
    incidents,
    trace_of,
)
from tests.diagnosis.jobs import LIMITS
from tests.played import occurrences as recorded_occurrences
from tests.windows import recorded_windows

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = sorted(
    {
        *CONSEQUENCES,
        *(rule for led_to in CONSEQUENCES.values() for rule in led_to),
        "placement.uneven",
    }
)


def finding(key, rule, begin_s=0, end_s=60, *, job="orders", at=(), shared=(), subject="s", rank=2):
    begin, end = T0 + timedelta(seconds=begin_s), T0 + timedelta(seconds=end_s)
    return IncidentFinding(
        key,
        "prod-eu",
        job,
        rule,
        subject,
        begin,
        end,
        rank,
        trace=Trace(frozenset(at), frozenset(shared)),
    )


def seen(rows) -> list[IncidentFinding]:
    """One finding of each rule and subject, from its first occurrence to its last."""
    spans: dict[tuple[str, ...], IncidentFinding] = {}
    for cluster, job, rule, kind, subject, severity, at, data in sorted(
        rows, key=lambda row: (row[6], row[2], row[4])
    ):
        key = (cluster, job, rule, subject)
        number = spans[key].key if key in spans else len(spans)
        first = spans[key].first_seen if key in spans else at
        rank = ("info", "warning", "critical").index(severity) + 1
        lasts = timedelta(seconds=registry.all_rules()[rule].hold_s)
        spans[key] = IncidentFinding(
            number, *key, first, at, rank, lasts=lasts, trace=trace_of(rule, kind, subject, data)
        )
    return list(spans.values())


def recorded(name: str) -> list[IncidentFinding]:
    return seen(
        (window.cluster, window.job_id, one.rule, one.subject_kind, one.subject_id, one.severity,
         datetime.fromtimestamp(one.seen_at_ms / 1000, UTC), one.data)
        for window in recorded_windows(name)
        for one in registry.diagnose(window, LIMITS).findings
    )  # fmt: skip


def lab(name: str) -> list[IncidentFinding]:
    names = (
        "cluster",
        "job_id",
        "rule",
        "subject_kind",
        "subject_id",
        "severity",
        "seen_at",
        "data",
    )
    return seen(tuple(one[name] for name in names) for one in recorded_occurrences(name))


def told(findings) -> list[list[str]]:
    """Rules of each incident that is worth one, its cause first."""
    by_key = {one.key: one for one in findings}
    of_each = ([by_key[key] for key in keys] for keys in incidents(findings))
    ordered = (
        in_order_of_cause(members) for members in of_each if max(one.rank for one in members) > 1
    )
    return sorted(list(dict.fromkeys(one.rule for one in members)) for members in ordered)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("1.20.5-E", [["checkpoint.declined"]]),
        (
            "1.20.5-F",
            [
                [
                    "pressure.root",
                    "checkpoint.expired",
                ]
            ],
        ),
        (
            "1.20.5-C2",
            [
                [
                    "data.skew",
                    "pressure.skew",
                    "pressure.root",
                    "checkpoint.alignment",
                ]
            ],
        ),
        ("1.20.5-I", [["restart.loop"]]),
        ("1.20.5-B", [["pressure.root", "checkpoint.start_delay"]]),
        ("1.20.5-A", []),
    ],
)
def test_a_recorded_incident_is_one_with_its_cause_on_top(name, expected):
    assert told(recorded(name)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("1.20.5/lost-file", [["restore.missing_file", "restart.loop"]]),
        ("2.3.0/leaking", [["restart.loop", "memory.step_after_restart"]]),
        # Two troubles of one job at one time, with nothing to do with each other:
        # an input that lags is one vertex, a RocksDB that stalls another.
        (
            "1.20.5/write-stall",
            [["rocksdb.write_stall", "pressure.root"]],
        ),
        (
            "1.20.5/short-transactions",
            [["checkpoint.too_frequent"], ["restart.loop", "sink.transaction_timeout"]],
        ),
    ],
)
def test_an_incident_of_the_lab_is_one_and_two_are_two(name, expected):
    assert told(lab(name)) == expected


def test_barriers_held_by_another_vertex_do_not_follow_from_a_pressure():
    root = finding(1, "pressure.root", at=["map"])
    held = finding(2, "checkpoint.expired", at=["sink"])
    assert not belong_together(root, held)
    assert belong_together(root, finding(3, "checkpoint.expired", at=["map", "sink"]))


def test_jobs_that_lost_one_taskmanager_are_in_one_incident_and_others_of_that_time_are_not():
    one, other = (
        finding(number, "restart.loop", job=str(number), shared=["taskmanager tm-7"])
        for number in (1, 2)
    )
    third = finding(3, "restart.loop", job="3", shared=["taskmanager tm-8"])
    assert incidents([third, other, one]) == [{1, 2}, {3}]


def test_what_happens_hours_later_is_another_incident():
    assert incidents(
        [
            finding(1, "pressure.root", at=["map"]),
            finding(2, "checkpoint.expired", 7200, 7260, at=["map"]),
        ]
    ) == [{1}, {2}]


def test_a_decline_by_several_hosts_names_none_of_them():
    declines = [{"host": "a"}, {"host": "b"}]
    assert (
        trace_of("checkpoint.declined", "job", "job", {"declines": declines, "reason": "X"}).shared
        == frozenset()
    )
    assert trace_of(
        "checkpoint.declined", "job", "job", {"declines": declines[:1], "reason": "X"}
    ).shared == {"host a X"}


def test_data_of_another_shape_ties_nothing():
    for data in (
        {"held_by": 3, "slowest": "x", "declines": [1], "lost_taskmanagers": {"a": 1}},
        {"lost_taskmanagers": [None]},
    ):
        for rule in RULES:
            assert trace_of(rule, "job", "job", data) == Trace()


def test_every_declared_rule_is_one_and_none_follows_from_itself():
    assert set(RULES) <= set(registry.all_rules())
    left = {rule: set(CONSEQUENCES.get(rule, ())) for rule in RULES}
    while settled := [rule for rule, led_to in left.items() if not led_to & set(left)]:
        for rule in settled:
            del left[rule]
    assert not left, "a ring of causes"


FINDINGS = st.lists(
    st.builds(
        lambda rule, begin, lasts, job, at, shared: (rule, begin, begin + lasts, job, at, shared),
        st.sampled_from(RULES),
        st.integers(0, 4_000),
        st.integers(0, 900),
        st.sampled_from("ab"),
        st.sets(st.sampled_from("vw")),
        st.sets(st.sampled_from("xy")),
    ),
    max_size=14,
).map(
    lambda rows: [
        finding(key, row[0], *row[1:3], job=row[3], at=row[4], shared=row[5])
        for key, row in enumerate(rows)
    ]
)


@given(FINDINGS, st.randoms())
def test_incidents_and_their_causes_do_not_depend_on_order(findings, random):
    shuffled = random.sample(findings, len(findings))
    assert incidents(shuffled) == incidents(findings)
    by_key = {one.key: one for one in findings}
    for keys in incidents(findings):
        members = [by_key[key] for key in sorted(keys)]
        assert cause_of(random.sample(members, len(members))) == cause_of(members)
        assert in_order_of_cause(members)[0] == cause_of(members)


@given(FINDINGS, st.randoms())
def test_findings_that_come_late_join_what_is_there_and_no_address_is_lost(findings, random):
    """Fed one by one in any order, the same incidents come out; who had joined another keeps that
    one's number or an older one.
    """
    known: dict[int, int] = {}
    arrived: list[IncidentFinding] = []
    numbers = iter(range(1, 100))
    for one in random.sample(findings, len(findings)):
        arrived.append(one)
        before = dict(known)
        for keys in incidents(arrived, known):
            ids = {known[key] for key in keys if key in known}
            number = min(ids) if ids else next(numbers)
            known.update(dict.fromkeys(keys, number))
        assert all(known[key] <= number for key, number in before.items())
    for keys in incidents(findings):
        assert len({known[key] for key in keys}) == 1
    assert len(set(known.values())) == len(incidents(findings))


@given(FINDINGS)
def test_two_are_in_one_incident_only_by_a_chain_of_ties(findings):
    """Recounted by walking from each finding to whatever it is tied to."""
    for one in findings:
        reached, left = {one.key}, [one]
        while left:
            here = left.pop()
            for other in findings:
                if other.key not in reached and belong_together(here, other):
                    reached.add(other.key)
                    left.append(other)
        [own] = [keys for keys in incidents(findings) if one.key in keys]
        assert own == reached
