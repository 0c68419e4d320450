"""Audits → findings on storage: opened, renewed and closed by audits alone."""

from datetime import timedelta

import pytest

from tests.webapp.builders import T0, cluster
from tests.webapp.storage.builders import (
    JOB,
    OTHER_JOB,
    ROOT,
    audit,
    chain,
    checkpoint_storage,
    job_storage,
    missing,
    root_figures,
    verdict_figures,
)
from webapp.findings import job_judgements, unreachable_clusters
from webapp.findings.models import Finding, ThresholdOverride
from webapp.findings.settling import bounded_subject
from webapp.storage import audit_findings

pytestmark = pytest.mark.django_db
MB = 1_000_000


@pytest.fixture
def judge(lease):
    def judged(of):
        audit_findings.judge(of, lease, lambda _line: None)

    return judged


def found(rule, **of):
    return list(Finding.objects.filter(rule=rule, **of).order_by("id"))


def test_orphans_of_a_root_are_one_finding_of_that_root(judge):
    of = audit()
    root_figures(of, bytes=100 * MB, orphan_files=14, orphan_bytes=17_600_000)
    verdict_figures(of, kind="unacknowledged", files=14, bytes=17_600_000)
    job_storage(of, orphan_bytes=17_600_000)
    judge(of)
    [finding] = found("storage.orphans")
    assert (finding.cluster, finding.job_id, finding.subject_kind, finding.subject_id) == (
        "",
        "",
        "root",
        ROOT,
    )
    assert finding.evidence[0]["value"] == 17_600_000
    assert "TaskManagers that died" in finding.cause
    assert finding.related[0]["subject"] == "clickstream"
    assert f"plan_cleanup {ROOT}" in finding.next_step


def test_what_bars_a_clean_up_is_said_with_the_next_step(judge):
    of = audit()
    root_figures(
        of,
        orphan_files=3,
        orphan_bytes=50 * MB,
        bytes=100 * MB,
        cleanable=False,
        not_cleanable=["not_attested"],
    )
    judge(of)
    assert (
        "Nobody has attested that every reader of this root is known"
        in found("storage.orphans")[0].next_step
    )


def test_a_clean_root_has_no_finding(judge):
    of = audit()
    root_figures(of, orphan_files=0, orphan_bytes=0)
    job_storage(of)
    judge(of)
    assert not Finding.objects.exists()


def test_the_next_audit_renews_what_it_sees_again_and_closes_what_it_does_not(judge):
    for day, orphans in enumerate((50, 60, 0)):
        of = audit(f"storage-{day}", as_of=T0 + timedelta(days=day))
        root_figures(
            of, bytes=100 * MB, orphan_files=3 if orphans else 0, orphan_bytes=orphans * MB
        )
        judge(of)
        [finding] = found("storage.orphans")
        if orphans:
            assert (finding.state, finding.first_seen, finding.last_seen) == ("open", T0, of.as_of)
    assert (finding.state, finding.closed_at) == ("closed", T0 + timedelta(days=2))


def test_judging_twice_is_judging_once(judge):
    of = audit()
    root_figures(of, bytes=100 * MB, orphan_bytes=50 * MB)
    judge(of)
    judge(of)
    assert len(found("storage.orphans")) == 1


def test_an_older_audit_says_nothing_of_a_root_that_a_newer_one_has_judged(judge):
    root_figures(audit("newer", as_of=T0 + timedelta(days=1)), orphan_files=0, orphan_bytes=0)
    older = audit("older")
    root_figures(older, bytes=100 * MB, orphan_bytes=50 * MB)
    judge(older)
    assert not Finding.objects.exists()


def test_an_audit_of_another_root_closes_nothing_here(judge):
    first = audit("one")
    root_figures(first, bytes=100 * MB, orphan_bytes=50 * MB)
    judge(first)
    other = audit("two", as_of=T0 + timedelta(days=1))
    root_figures(other, "s3://other/root", orphan_files=0, orphan_bytes=0)
    judge(other)
    assert found("storage.orphans")[0].state == "open"


def test_a_chain_of_jobs_names_those_whose_files_are_needed(judge):
    of = audit()
    root_figures(of, orphan_bytes=0, orphan_files=0)
    job_storage(of, JOB, foreign_files=12, foreign_bytes=5_744_465)
    job_storage(of, OTHER_JOB, job_name="clickstream-old", terminal=True)
    chain(of, JOB, OTHER_JOB, files=12, bytes=5_744_465)
    chain(of, OTHER_JOB, "c" * 32)
    judge(of)
    [finding] = found("storage.cross_job")
    assert (finding.cluster, finding.job_id, finding.severity) == ("prod-eu", JOB, "info")
    assert "clickstream-old" in finding.next_step
    assert {one["name"]: one["value"] for one in finding.evidence}["jobs behind this one"] == 2


def test_missing_files_of_the_newest_checkpoint_of_a_running_job_are_critical(judge):
    of = audit()
    root_figures(of, orphan_bytes=0)
    job_storage(of, missing_files=1, missing_bytes=100, newest_checkpoint_id=7)
    checkpoint_storage(
        of, 7, cluster="prod-eu", missing_files=1, missing_bytes=100, resolvable=False
    )
    missing(of)
    judge(of)
    [finding] = found("storage.missing_reference")
    assert (finding.severity, finding.subject_kind) == ("critical", "job")
    assert finding.title.startswith("Checkpoint 7 cannot be restored: 1 file")


def test_a_superseded_checkpoint_without_its_files_is_information_only(judge):
    of = audit()
    root_figures(of, orphan_bytes=0)
    job_storage(of, missing_files=1, newest_checkpoint_id=9)
    checkpoint_storage(of, 7, cluster="prod-eu", missing_files=1, resolvable=False)
    missing(of, superseded=True)
    judge(of)
    assert found("storage.missing_reference")[0].severity == "info"


def test_a_savepoint_of_nobody_known_is_told_with_its_root(judge):
    of = audit()
    root_figures(of, orphan_bytes=0)
    path = f"{ROOT}/savepoint-abcdef-0123456789ab/_metadata"
    checkpoint_storage(
        of, 3, "", is_savepoint=True, metadata_path=path, missing_files=2, missing_bytes=10
    )
    judge(of)
    [finding] = found("storage.missing_reference")
    assert (finding.cluster, finding.job_id, finding.severity) == ("", "", "warning")
    assert path in str(finding.evidence)


def test_merged_files_that_are_mostly_dead_are_told_with_their_factor(judge):
    of = audit()
    root_figures(of, orphan_bytes=0)
    job_storage(
        of, segmented_files=10, segmented_file_bytes=76_000_000, live_segment_bytes=11_330_996
    )
    judge(of)
    [finding] = found("storage.amplification")
    assert finding.severity == "warning"
    assert finding.evidence[0]["value"] == pytest.approx(76_000_000 / 11_330_996)


def test_an_override_of_one_job_is_heeded_for_that_job_alone(judge):
    of = audit()
    root_figures(of, orphan_bytes=0)
    job_storage(of, JOB, small_files=20, files=30)
    job_storage(of, OTHER_JOB, small_files=20, files=30)
    ThresholdOverride.objects.create(
        key="storage.small_files.files", value=10, cluster="prod-eu", job_id=JOB
    )
    judge(of)
    assert [finding.job_id for finding in found("storage.small_files")] == [JOB]


def test_cycles_and_watches_leave_findings_on_storage_to_the_audits(judge):
    of = audit()
    cluster(name="prod-eu", at=T0)
    root_figures(of, bytes=100 * MB, orphan_bytes=50 * MB)
    job_storage(of, foreign_files=1, terminal=True)
    chain(of, files=1)
    judge(of)
    job_judgements.close_unseen()
    unreachable_clusters.watch(T0 + timedelta(days=1))
    assert {finding.state for finding in Finding.objects.filter(rule__startswith="storage.")} == {
        "open"
    }


def test_long_paths_stay_subjects_of_their_own():
    one, other = (bounded_subject(f"s3://bucket/{'x' * 400}/{name}") for name in "ab")
    assert one != other
    assert len(one) <= 300
