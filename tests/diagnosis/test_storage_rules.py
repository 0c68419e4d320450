"""Rules on checkpoint storage: figures of the recorded clusters (recounted in their listings), and
what must stay quiet.
"""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings
from spark_jobs.diagnosis.objective_samples import ObjectiveBurn
from spark_jobs.diagnosis.operator_samples import OperatorStatus
from spark_jobs.diagnosis.replica_samples import ReplicaSample
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.storage_samples import (
    Dependence,
    IncompleteSnapshot,
    Share,
    StorageJobSample,
    StorageRootSample,
)
from spark_jobs.diagnosis.weir_samples import StageProgress

ROOT = "file:/opt/l/lab/run/ckpt"
AT_MS = 1_795_234_560_000
LIMITS = registry.limits()
MB = 1_000_000


def root(**values):
    return StorageRootSample(ROOT, AT_MS, **{"all": Share(100, 100 * MB), **values})


def job(**values):
    return StorageJobSample(
        ROOT,
        "c",
        "a" * 32,
        AT_MS,
        **{"job_name": "orders", "all": Share(100, 100 * MB), **values},
    )


def said(sample, rule, limits=LIMITS):
    diagnosis = registry.diagnose(sample, limits, only=[rule])
    assert not diagnosis.unknowns
    return list(diagnosis.findings)


def incomplete(**values):
    return IncompleteSnapshot(f"{ROOT}/chk-11/_metadata", Share(16, 4_800_000), 11, **values)


KILLED = root(
    orphans=Share(14, 17_600_000),
    orphan_kinds=(("unacknowledged", Share(14, 17_600_000)),),
    jobs_with_most_orphans=("lab-I",),
)
"""1.20.5/I: TaskManagers killed five times within the asynchronous part."""
MERGED = job(segmented=Share(12, 76_000_000), live_segment_bytes=11_330_996)
"""1.20.5/K at checkpoint 21."""
CHAINED = job(depends_on=(Dependence("b" * 32, 12, 5_744_465, "lab-H-1", True),), chain=1)
"""1.20.5/H: the second job of the LEGACY chain."""
SUPERSEDED = root(waste=Share(30, 10 * MB))
FIRES = [
    (KILLED, "storage.orphans"),
    (SUPERSEDED, "storage.retained_waste"),
    (job(incomplete=(incomplete(),)), "storage.missing_reference"),
    (CHAINED, "storage.cross_job"),
    (MERGED, "storage.amplification"),
    (job(small_files=1_500, all=Share(2_000, 400 * MB)), "storage.small_files"),
    (job(small_files=90, calls=126, interval_ms=2_000), "storage.small_files"),
]
QUIET = [
    (root(orphans=Share(3, 100_000)), "storage.orphans"),
    (root(orphans=Share(3, 5 * MB), all=Share(10_000, 1_000_000 * MB)), "storage.orphans"),
    (root(kept=Share(50, 90 * MB)), "storage.orphans"),
    (root(waste=Share(2, 1_500_000)), "storage.retained_waste"),
    (job(), "storage.missing_reference"),
    (job(), "storage.cross_job"),
    (job(segmented=Share(12, 22 * MB), live_segment_bytes=11 * MB), "storage.amplification"),
    (job(segmented=Share(3, 4 * MB), live_segment_bytes=MB), "storage.amplification"),
    (job(segmented=Share(3, 40 * MB)), "storage.amplification"),
    (job(small_files=90), "storage.small_files"),
    (job(small_files=90, calls=126, interval_ms=10_000), "storage.small_files"),
    (job(small_files=90, calls=126, interval_ms=2_000, ended=True), "storage.small_files"),
    (job(small_files=10, calls=126, interval_ms=2_000), "storage.small_files"),
    (job(small_files=1_500, all=Share(9_000, 90_000 * MB)), "storage.small_files"),
]


@pytest.mark.parametrize(("sample", "rule"), FIRES, ids=[rule for _, rule in FIRES])
def test_it_fires_on_what_was_recorded(sample, rule):
    [finding] = said(sample, rule)
    assert finding.evidence[0].value
    assert finding.evidence[0].threshold is not None
    assert finding.seen_at_ms == AT_MS
    assert finding.data["root"] == ROOT


@pytest.mark.parametrize(("sample", "rule"), QUIET)
def test_it_stays_quiet(sample, rule):
    assert not said(sample, rule)


@pytest.mark.parametrize("rule", registry.rules_for(StorageRootSample))
def test_an_empty_root_has_nothing(rule):
    assert not said(StorageRootSample(ROOT, AT_MS), rule)


@pytest.mark.parametrize("rule", registry.rules_for(StorageJobSample))
def test_an_empty_directory_has_nothing(rule):
    assert not said(StorageJobSample(ROOT, "c", "a" * 32, AT_MS), rule)


def test_each_rule_judges_one_kind_of_sample_and_is_asked_for_no_other():
    kinds = [
        set(registry.rules_for(kind))
        for kind in (
            JobWindow,
            StorageRootSample,
            StorageJobSample,
            ReplicaSample,
            NameNodeReadings,
            StageProgress,
            ObjectiveBurn,
            OperatorStatus,
        )
    ]
    assert set.union(*kinds) == set(registry.all_rules())
    assert sum(map(len, kinds)) == len(registry.all_rules())
    assert {finding.rule for finding in registry.diagnose(KILLED, LIMITS).findings} == {
        "storage.orphans"
    }


def test_the_kinds_of_orphans_are_words_and_figures():
    [finding] = said(KILLED, "storage.orphans")
    assert "TaskManagers that died" in finding.cause
    assert [one.value for one in finding.evidence if one.name == "of kind unacknowledged"] == [
        17_600_000
    ]


@pytest.mark.parametrize(("orphans_mb", "severity"), [(5, "info"), (25, "warning")])
def test_the_more_of_a_root_is_orphaned_the_worse(orphans_mb, severity):
    assert said(root(orphans=Share(10, orphans_mb * MB)), "storage.orphans")[0].severity == severity


def test_very_many_bytes_matter_whatever_their_share():
    huge = root(orphans=Share(10, 200 << 30), all=Share(10**6, 1 << 50))
    assert said(huge, "storage.orphans")[0].severity == "warning"


def test_the_step_names_the_command_and_what_bars_it():
    [finding] = said(
        replace(KILLED, clean_up_barred_by=("the audit has doubts",)), "storage.orphans"
    )
    assert f"manage.py plan_cleanup {ROOT}" in finding.next_step
    assert "the audit has doubts" in finding.next_step
    assert "--waste" in said(SUPERSEDED, "storage.retained_waste")[0].next_step


@pytest.mark.parametrize(
    ("lacking", "ended", "severity"),
    [
        (incomplete(is_newest=True), False, "critical"),
        (incomplete(is_newest=True), None, "critical"),
        (incomplete(is_newest=True), True, "warning"),
        (incomplete(), False, "warning"),
        (incomplete(superseded=True), False, "info"),
    ],
)
def test_missing_files_are_as_bad_as_what_would_be_lost(lacking, ended, severity):
    assert (
        said(job(incomplete=(lacking,), ended=ended), "storage.missing_reference")[0].severity
        == severity
    )


def test_the_worst_snapshot_gives_the_words_and_all_are_listed():
    older = replace(incomplete(), path=f"{ROOT}/chk-9/_metadata", checkpoint_id=9, superseded=True)
    [finding] = said(
        job(incomplete=(older, incomplete(is_newest=True))), "storage.missing_reference"
    )
    assert finding.title.startswith("Checkpoint 11 cannot be restored: 16 files")
    assert {one.subject for one in finding.related} == {"checkpoint 11", "checkpoint 9"}


def test_a_running_job_with_missing_files_must_not_be_stopped():
    [finding] = said(
        job(incomplete=(incomplete(is_newest=True),), ended=False), "storage.missing_reference"
    )
    assert "Do not stop" in finding.next_step


def test_a_long_chain_of_a_running_job_is_a_warning():
    assert said(CHAINED, "storage.cross_job")[0].severity == "info"
    assert said(replace(CHAINED, chain=3), "storage.cross_job")[0].severity == "warning"
    assert said(replace(CHAINED, chain=3, ended=True), "storage.cross_job")[0].severity == "info"


@pytest.mark.parametrize(
    ("ended", "says"),
    [(False, "flink checkpoint --full"), (True, "has ended"), (None, "look in Flink first")],
)
def test_the_advice_on_a_chain_fits_the_state_of_the_job(ended, says):
    [finding] = said(replace(CHAINED, ended=ended, retained=2, dependent=1), "storage.cross_job")
    assert says in finding.next_step
    assert ("--full" in finding.next_step) == (ended is False)
    assert "1 of its 2 retained snapshots cannot be restored" in finding.cause


def test_the_amplification_is_that_of_a_plain_recount():
    [finding] = said(MERGED, "storage.amplification")
    assert finding.evidence[0].value == pytest.approx(76_000_000 / 11_330_996)
    assert finding.severity == "warning"
    assert "Do not delete anything yourself" in finding.next_step


def test_a_job_that_nobody_has_told_of_is_named_by_its_directory():
    [finding] = said(replace(CHAINED, cluster=""), "storage.cross_job")
    assert (finding.subject_kind, finding.subject_id) == ("root", f"{ROOT}/{'a' * 32}")


def test_thresholds_are_settings():
    few = registry.limits({"storage.small_files.files": 10})
    assert said(job(small_files=60), "storage.small_files", few)
