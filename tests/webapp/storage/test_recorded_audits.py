"""What the rules on storage say of real clusters, as audits of their recorded trees found them."""

import gzip
import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from spark_jobs.audit_tables import AUDIT_TABLES
from spark_jobs.diagnosis.registry import all_rules
from tests.webapp.storage.builders import audit, take_up
from webapp.findings.models import Finding
from webapp.storage import audit_findings

pytestmark = pytest.mark.django_db
RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
AUDITS = Path(__file__).parents[2] / "fixtures" / "audits"


@pytest.fixture
def found(lease):
    def judged(name):
        tables = json.loads(gzip.decompress((AUDITS / f"1.20.5-{name}.json.gz").read_bytes()))
        as_of = datetime.fromisoformat(tables["storage_root"][0]["as_of"])
        of = audit(name, as_of=as_of, roots=[row["root"] for row in tables["storage_root"]])
        take_up(lambda table: [_plain(table, row) for row in tables[table]])
        audit_findings.judge(of, lease, lambda _line: None)
        return list(Finding.objects.order_by("rule", "job_id"))

    return judged


def _plain(table, row):
    columns = AUDIT_TABLES[table].by_name
    return {name: _value(columns[name].kind, value) for name, value in row.items()}


def _value(kind, value):
    if value is None:
        return None
    return (
        json.loads(value)
        if kind == "json"
        else datetime.fromisoformat(value)
        if kind == "instant"
        else value
    )


def of_rule(findings, rule):
    return [finding for finding in findings if finding.rule == rule]


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (known.id, known.fed_by.rpartition("-")[2])
        for known in all_rules().values()
        if known.fed_by.startswith("audits/")
    ],
)
def test_a_rule_fires_on_the_audit_that_it_says_has_fed_it(found, rule, name):
    assert of_rule(found(name), rule)


def figures(finding, *names):
    values = {one["name"]: one["value"] for one in finding.evidence}
    return tuple(values[name] for name in names)


def test_killed_taskmanagers_leave_orphans_that_are_counted_and_explained(found):
    [orphans] = of_rule(found("I"), "storage.orphans")
    assert orphans.subject_kind == "root"
    assert figures(orphans, "orphaned bytes", "orphaned files") == (17_566_752, 14)
    kinds = [one["value"] for one in orphans.evidence if one["name"].startswith("of kind ")]
    assert sum(kinds) == orphans.evidence[0]["value"]


def test_the_restore_chain_names_the_jobs_that_need_files_of_others(found):
    findings = found("H")
    needs = {
        finding.job_id[:6]: finding.data["jobs"]
        for finding in of_rule(findings, "storage.cross_job")
    }
    assert {
        job: [(one["job_id"][:6], one["files"]) for one in others] for job, others in needs.items()
    } == {
        "6ced19": [("529e89", 12)],
        "548495": [("6ced19", 8)],
        "bdf1ec": [("529e89", 12)],
        "0e0a92": [("bdf1ec", 8)],
    }
    assert of_rule(findings, "storage.amplification") == []


def snapshots_by_flink(name: str) -> dict[str, tuple[int, int]]:
    """Job id → its snapshots at the end, and those that refer to another job's directory, as Flink
    itself reads their ``_metadata``.
    """
    recording = RECORDINGS / "1.20.5" / name
    listed = [
        line.split("\t")[0] for line in (recording / "listing-final.tsv").read_text().splitlines()
    ]
    found: dict[str, list[bool]] = {}
    for path in (path for path in listed if path.endswith("/_metadata")):
        job_id = path.split("/")[1]
        referred = re.findall(
            r'"physical_id":"[^"]*/ckpt/([0-9a-f]{32})/',
            (recording / f"{path}.oracle.jsonl").read_text(),
        )
        found.setdefault(job_id, []).append(any(other != job_id for other in referred))
    return {job_id: (len(foreign), sum(foreign)) for job_id, foreign in found.items()}


def test_the_chain_counts_the_snapshots_that_need_files_of_others_as_flink_reads_them(found):
    by_flink = snapshots_by_flink("H")
    chained = of_rule(found("H"), "storage.cross_job")
    assert {finding.job_id for finding in chained} == {
        job_id for job_id, (_all, foreign) in by_flink.items() if foreign
    }
    for finding in chained:
        retained, dependent = by_flink[finding.job_id]
        noun = "snapshot" if retained == 1 else "snapshots"
        assert (
            f"{dependent} of its {retained} retained {noun} cannot be restored without those files."
            in finding.cause
        )


def test_a_job_that_has_ended_is_not_told_to_take_a_checkpoint(found):
    """All jobs of this recording were cancelled."""
    for finding in of_rule(found("H"), "storage.cross_job"):
        assert "has ended" in finding.next_step and "flink checkpoint" not in finding.next_step


def test_what_a_claim_took_away_is_information_only(found):
    [lacking] = of_rule(found("H"), "storage.missing_reference")
    assert (lacking.job_id[:6], lacking.severity) == ("0e0a92", "info")
    assert lacking.title.startswith("Checkpoint 11 cannot be restored: 16 files")


def test_superseded_checkpoints_of_the_chain_are_told(found):
    [waste] = of_rule(found("H"), "storage.retained_waste")
    assert figures(waste, "superseded bytes", "superseded files") == (12_944_392, 39)
    assert waste.severity == "info"


def test_merged_files_of_the_job_whose_segments_died_are_told_and_of_the_other_are_not(found):
    findings = found("K")
    [dead] = of_rule(findings, "storage.amplification")
    assert dead.job_id.startswith("7cd4dd")
    assert dead.evidence[0]["value"] == pytest.approx(76_003_844 / 29_458_012)
    assert of_rule(findings, "storage.cross_job") == []


def test_a_sound_root_has_nothing_but_what_was_done_to_it(found):
    assert {finding.rule for finding in found("I")} == {"storage.orphans"}


@pytest.mark.parametrize("name", ["H", "I", "K"])
def test_no_recorded_cluster_has_many_small_files(found, name):
    assert of_rule(found(name), "storage.small_files") == []
