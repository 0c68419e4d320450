"""Findings of storage on the pages of findings: a root belongs to no cluster and no job."""

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from tests.webapp.storage.builders import (
    ROOT,
    audit,
    checkpoint_storage,
    job_storage,
    missing,
    root_figures,
    verdict_figures,
)
from webapp.findings.models import Finding
from webapp.storage import audit_findings
from webapp.work.lease import Lease
from webapp.work.models import DueWork

pytestmark = pytest.mark.django_db


@pytest.fixture
def found(db):
    now = timezone.now()
    DueWork.objects.ensure({"storage/audit": 3600}, now)
    lease = DueWork.objects.claim("storage/audit", now)
    assert isinstance(lease, Lease)
    of = audit(as_of=now)
    root_figures(of, bytes=100_000_000, orphan_files=14, orphan_bytes=17_600_000)
    verdict_figures(of, kind="unacknowledged", files=14, bytes=17_600_000)
    job_storage(of, missing_files=1, newest_checkpoint_id=7)
    checkpoint_storage(
        of, 7, cluster="prod-eu", missing_files=1, missing_bytes=100, resolvable=False
    )
    missing(of)
    audit_findings.judge(of, lease, lambda _line: None)
    return {finding.rule: finding for finding in Finding.objects.all()}


def test_a_root_has_a_page_of_its_finding(viewer, found):
    page = viewer.get(reverse("finding", args=(found["storage.orphans"].pk,))).content.decode()
    assert ROOT in page and "plan_cleanup" in page and "17.6 MB" in page


def test_a_job_that_lacks_files_has_one_too(viewer, found):
    page = viewer.get(
        reverse("finding", args=(found["storage.missing_reference"].pk,))
    ).content.decode()
    assert "cannot be restored" in page and "What if its thresholds" not in page


def test_both_are_listed_and_their_rules_have_pages(viewer, found):
    page = viewer.get(reverse("findings")).content.decode()
    assert all(finding.title in page for finding in found.values())
    for rule in found:
        assert viewer.get(reverse("rule", args=(rule,))).status_code == 200


def test_the_command_prints_them(found, capsys):
    call_command("findings")
    assert "storage.orphans" in capsys.readouterr().out
