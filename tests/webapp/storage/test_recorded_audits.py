"""What the rules on storage say of real clusters, as audits of their recorded trees found them."""

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest

from spark_jobs.audit_tables import AUDIT_TABLES
from spark_jobs.diagnosis.registry import all_rules
from tests.webapp.storage.builders import audit
from webapp.findings.models import Finding
from webapp.storage import audit_findings
from webapp.storage.table_models import AUDIT_MODELS

pytestmark = pytest.mark.django_db
RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
AUDITS = Path(__file__).parents[2] / "fixtures" / "audits"


@pytest.fixture
def found(lease):
    def judged(name):
        tables = json.loads(gzip.decompress((AUDITS / f"1.20.5-{name}.json.gz").read_bytes()))
        as_of = datetime.fromisoformat(tables["storage_root"][0]["as_of"])
        of = audit(name, as_of=as_of, roots=[row["root"] for row in tables["storage_root"]])
        for table, model in AUDIT_MODELS.items():
            kinds = {column.name: column.kind for column in AUDIT_TABLES[table].columns}
            for row in tables[table]:
                model.objects.create(
                    **{field: _value(kinds[field], value) for field, value in row.items()}
                )
        audit_findings.judge(of, lease, lambda _line: None)
        return list(Finding.objects.order_by("rule", "job_id"))

    return judged


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


def test_killed_taskmanagers_leave_orphans_that_are_counted_and_explained(found):
    [orphans] = of_rule(found("I"), "storage.orphans")
    assert orphans.subject_kind == "root"
    assert (orphans.data["files"], orphans.data["bytes"]) == (14, 17_566_752)
    assert orphans.evidence[0]["value"] == 17_566_752
    assert sum(orphans.data["kinds"].values()) == orphans.data["bytes"]


def test_what_a_claim_took_away_is_information_only(found):
    [lacking] = of_rule(found("H"), "storage.missing_reference")
    assert (lacking.job_id[:6], lacking.severity) == ("0e0a92", "info")
    assert lacking.title.startswith("Checkpoint 11 cannot be restored: 16 files")


def test_superseded_checkpoints_of_the_chain_are_told(found):
    [waste] = of_rule(found("H"), "storage.retained_waste")
    assert (waste.data["files"], waste.data["bytes"], waste.severity) == (40, 12_994_072, "info")


def test_a_sound_root_has_nothing_but_what_was_done_to_it(found):
    assert {finding.rule for finding in found("I")} == {"storage.orphans"}


@pytest.mark.parametrize("name", ["H", "I", "K"])
def test_no_recorded_cluster_has_many_small_files(found, name):
    assert of_rule(found(name), "storage.small_files") == []
