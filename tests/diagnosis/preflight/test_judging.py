"""What decides whether a job restores: each case beside its near misses. Nothing that is unknown
may be taken for *restores*.
"""

from dataclasses import replace

import pytest

from ingest.metadata.dialects import DIALECTS
from spark_jobs.diagnosis.known_bugs import BY_ISSUE
from spark_jobs.diagnosis.preflight import judging
from spark_jobs.diagnosis.preflight.judging import judge
from spark_jobs.diagnosis.preflight.subjects import (
    SAVEPOINT_KEYED,
    Job,
    PlannedOperator,
    Snapshot,
    StoredOperator,
)
from tests.selections import for_each

INCREMENTAL, FULL = "IncrementalRemoteKeyedStateHandle", "KeyGroupsStateHandle"
COUNT = StoredOperator(
    "a" * 32,
    "count",
    None,
    4,
    128,
    state_bytes=5_000,
    kinds={"shared", "private", "meta"},
    keyed={INCREMENTAL},
    has_state=True,
    is_certain=True,
)
SNAPSHOT = Snapshot("file:/c/chk-1/_metadata", 1, 4, (COUNT,), flink_version="1.20.5", files=8)
COUNTS = PlannedOperator(COUNT.operator_id, "count", 4, 128)
JOB = Job(
    "1.20.5",
    (COUNTS,),
    {COUNT.operator_id: COUNTS},
    "EmbeddedRocksDBStateBackend",
    changelog=False,
    keeps_types=True,
)


def stored(**changes):
    return replace(SNAPSHOT, operators=(replace(COUNT, **changes),))


def planned(**changes):
    return replace(JOB, vertices=(replace(COUNTS, **changes),))


OTHER = {"b" * 32: PlannedOperator("b" * 32, "sum", 4, 128)}
RENAMED = replace(JOB, vertices=tuple(OTHER.values()), operators=OTHER)
IN_FLIGHT = stored(kinds={"channel-input"}, keyed=set())
CANONICAL = stored(keyed={SAVEPOINT_KEYED})
CASES = {
    "the same": (SNAPSHOT, JOB, "restores", None),
    "types may have changed": (SNAPSHOT, replace(JOB, keeps_types=False), "unknown", "types"),
    "it took it": (SNAPSHOT, replace(JOB, keeps_types=False, took_snapshot=True), "restores", None),
    "operator gone": (SNAPSHOT, RENAMED, "refused", "operators"),
    "operator gone, allowed": (SNAPSHOT, replace(RENAMED, may_drop=True), "restores", None),
    "operator perhaps within a chain": (
        SNAPSHOT,
        replace(RENAMED, operators=None),
        "unknown",
        "operators",
    ),
    "perhaps within a chain, allowed": (
        SNAPSHOT,
        replace(RENAMED, operators=None, may_drop=True),
        "unknown",
        "operators",
    ),
    "gone, had no state": (
        stored(has_state=False, is_certain=False, kinds=set(), keyed=set()),
        RENAMED,
        "restores",
        None,
    ),
    "gone, had a coordinator": (stored(is_certain=False), RENAMED, "unknown", "operators"),
    "no plan": (SNAPSHOT, replace(JOB, vertices=()), "unknown", "operators"),
    "parallelism at the maximum": (SNAPSHOT, planned(parallelism=128), "restores", None),
    "parallelism over it": (SNAPSHOT, planned(parallelism=129), "refused", "parallelism"),
    "parallelism not known": (SNAPSHOT, planned(parallelism=None), "unknown", "parallelism"),
    "maximum not known": (SNAPSHOT, planned(max_parallelism=None), "unknown", "parallelism"),
    "another maximum": (SNAPSHOT, planned(max_parallelism=256), "unknown", "parallelism"),
    "incremental to heap": (
        SNAPSHOT,
        replace(JOB, backend="HashMapStateBackend"),
        "refused",
        "backend",
    ),
    "canonical to heap": (CANONICAL, replace(JOB, backend="HashMapStateBackend"), "restores", None),
    "incremental to ForSt": (
        SNAPSHOT,
        replace(JOB, backend="ForStStateBackend"),
        "unknown",
        "backend",
    ),
    "backend not known": (SNAPSHOT, replace(JOB, backend="Unknown"), "unknown", "backend"),
    "full, of no known backend": (stored(keyed={FULL}), JOB, "unknown", "backend"),
    "incremental of 2.0, of no known backend": (
        replace(SNAPSHOT, format_version=5, flink_version="2.0.0"),
        replace(JOB, flink_version="2.0.0"),
        "unknown",
        "backend",
    ),
    "incremental of 2.0, of RocksDB": (
        replace(SNAPSHOT, format_version=5, flink_version="2.0.0", backend=JOB.backend),
        replace(JOB, flink_version="2.0.0"),
        "restores",
        None,
    ),
    "changelog": (SNAPSHOT, replace(JOB, changelog=True), "unknown", "backend"),
    "changelog not known": (SNAPSHOT, replace(JOB, changelog=None), "unknown", "backend"),
    "format too new": (replace(SNAPSHOT, format_version=5), JOB, "refused", "version"),
    "release too new": (SNAPSHOT, replace(JOB, flink_version="1.19.3"), "unknown", "version"),
    "release not known, format of all": (
        replace(SNAPSHOT, flink_version=None),
        JOB,
        "restores",
        None,
    ),
    "release not known, format of later ones": (
        replace(SNAPSHOT, flink_version=None),
        replace(JOB, flink_version="1.19.3"),
        "unknown",
        "version",
    ),
    "older release": (replace(SNAPSHOT, flink_version="1.17.2"), JOB, "restores", None),
    "1.x to 2.x": (SNAPSHOT, replace(JOB, flink_version="2.1.3"), "unknown", "version"),
    "before 1.8, perhaps": (
        replace(SNAPSHOT, format_version=2, flink_version=None),
        JOB,
        "unknown",
        "version",
    ),
    "a vendor's": (SNAPSHOT, replace(JOB, flink_version="1.20-vvr-8"), "unknown", "version"),
    "a vendor's that took it": (
        SNAPSHOT,
        replace(JOB, flink_version="1.20-vvr-8", took_snapshot=True),
        "restores",
        None,
    ),
    "not released yet": (SNAPSHOT, replace(JOB, flink_version="2.4.0"), "unknown", "version"),
    "version not known": (SNAPSHOT, replace(JOB, flink_version=None), "unknown", "version"),
    "records in flight": (IN_FLIGHT, JOB, "unknown", "in_flight"),
    "records in flight of its own": (IN_FLIGHT, replace(JOB, took_snapshot=True), "restores", None),
    "records in flight, and a bug": (
        replace(IN_FLIGHT, flink_version="1.20.3"),
        replace(JOB, took_snapshot=True, flink_version="1.20.3"),
        "unknown",
        "known_bug",
    ),
    "finished tasks": (stored(has_finished=True), JOB, "unknown", "finished"),
    "hooks": (replace(SNAPSHOT, master_states=("hook",)), JOB, "unknown", "hooks"),
    "a file missing": (stored(missing=1), JOB, "refused", "files"),
    "a file missing of what is dropped": (
        stored(missing=1),
        replace(RENAMED, may_drop=True),
        "restores",
        None,
    ),
    "files not looked for": (replace(SNAPSHOT, unchecked="No."), JOB, "unknown", "files"),
    "compressed operator state": (
        replace(stored(kinds={"managed-op"}, keyed=set()), flink_version="1.18.0"),
        replace(JOB, flink_version="1.18.0"),
        "unknown",
        "known_bug",
    ),
}


@for_each(case=CASES)
def test_each_doubt_is_kept_and_each_refusal_is_told(case):
    snapshot, job, outcome, check = CASES[case]
    result = judge(snapshot, job)
    deciding = {reason.check for reason in result.reasons if reason.outcome == outcome}
    assert (result.outcome, check in deciding or check is None) == (outcome, True), (
        case,
        result.reasons,
    )
    assert all(reason.source.startswith("https://") for reason in result.reasons)


def test_what_is_lost_is_counted():
    result = judge(SNAPSHOT, replace(RENAMED, may_drop=True))
    assert result.lost_bytes == 5_000
    assert [one.fate for one in result.operators] == ["dropped", "new"]


def test_one_doubt_beside_a_refusal_stays_a_refusal():
    result = judge(stored(missing=1), replace(JOB, keeps_types=False))
    assert result.outcome == "refused"
    assert [reason.outcome for reason in result.reasons][:2] == ["refused", "unknown"]


@pytest.mark.parametrize("form", sorted(DIALECTS))
def test_the_releases_that_write_a_format_are_those_of_the_reader(form):
    if form == 7:
        assert form not in [known for _, _, known in judging.NEWEST_FORMAT]
        return
    first, last = judging._writers(form)
    names = " ".join(str(dialect.name) for dialect in DIALECTS[form])
    assert f"{last[0]}.{last[1]}" in names
    assert f"{first[0]}.{first[1]}" in names


def test_bugs_that_decide_are_known():
    decide = (
        *judging.IN_FLIGHT_BUGS,
        *judging.RESCALED_IN_FLIGHT_BUGS,
        *judging.OPERATOR_STATE_BUGS,
    )
    assert set(decide) <= set(BY_ISSUE)
