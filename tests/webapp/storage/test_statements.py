"""What operators state of storage by page and API: who may, what is refused, what is shown."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, job
from tests.webapp.storage.builders import JOB, ROOT, audit, doubt, job_storage, root, root_figures
from webapp.cleanup.planning import sort_roots
from webapp.lib.refusals import InputRefused
from webapp.storage import statements
from webapp.storage.models import AuditDoubt, StorageAudit, StorageRoot, StorageStatement
from webapp.storage.statements import Stated, state, take_back

pytestmark = pytest.mark.django_db
WHY = "Its cluster was deleted."
FILE = f"{ROOT}/tables/_metadata"
KNOWN = {"kind": "foreign_file", "subject": FILE, "bytes": 9, "modified": 1_700_000_000_000_000}


@pytest.fixture
def audited() -> StorageAudit:
    root()
    of = audit()
    root_figures(of, cleanable=True, doubts=1)
    job_storage(of)
    doubt(of, FILE, reason="no_magic_number", statements=[KNOWN | {"head_sha256": "0" * 64}])
    return of


def test_the_root_page_shows_reach_bytes_and_what_ends_a_doubt(audited, operator) -> None:
    page = operator.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    text = " ".join(page.split())
    assert "Any file of all audited roots" in text and "300 B" in text
    assert "manage.py storage_statement foreign_file" in text and "storage/statements/make" in text


def test_a_viewer_sees_the_doubt_and_no_form(audited, viewer) -> None:
    page = viewer.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    assert "Any file of all audited roots" in page and "storage/statements/make" not in page
    assert viewer.get(reverse("storage-statement"), _dead()).status_code == 403


def _dead(**more: str) -> dict[str, str]:
    return {"kind": "dead_job", "subject": f"{ROOT}/{JOB}", **more}


def test_an_operator_attests_by_the_form_and_takes_it_back(audited, operator) -> None:
    address = reverse("storage-statement")
    assert "newest audit found" in operator.get(address, _dead()).content.decode()
    assert operator.post(address, _dead()).status_code == 200
    assert operator.post(address, _dead(reason=WHY)).status_code == 302
    made = StorageStatement.objects.get()
    assert (made.subject, made.reason, made.job_id) == (f"{ROOT}/{JOB}", WHY, JOB)
    assert WHY in operator.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    operator.post(reverse("storage-statement-end", args=[made.pk]))
    assert not StorageStatement.objects.counting().exists()


def test_the_api_says_what_ends_a_doubt_and_what_is_stated(audited, viewer) -> None:
    state(Stated("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    (row,) = viewer.get(reverse("api-storage-doubts-list")).json()["results"]
    assert row["reach"] == "all_roots" and row["blocked_bytes"] == 300 and row["actions"]
    (stated,) = viewer.get(reverse("api-storage-statements-list")).json()["results"]
    assert stated["reason"] == WHY and stated["ended_at"] is None


def test_a_file_is_acknowledged_as_the_audit_found_it(audited) -> None:
    made = state(Stated("foreign_file", FILE), WHY, "olga")
    assert (made.bytes, made.head_sha256) == (9, "0" * 64) and made.modified
    (row,) = statements.rows_of_request(audit("storage-2"))
    assert row["subject"] == FILE and row["modified"].startswith("2023-11-14")


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        (Stated("foreign_file", f"{ROOT}/{JOB}/chk-9/_metadata"), "no doubt"),
        (Stated("excluded", ROOT), "is a root"),
        (Stated("excluded", "s3://elsewhere/x"), "no registered root"),
        (Stated("dead_job", f"{ROOT}/{'f' * 32}"), "audit first"),
        (Stated("dead_job", "", "prod-eu", "f" * 32), "knows no job"),
    ],
)
def test_what_is_not_so_is_refused(audited, stated: Stated, why: str) -> None:
    with pytest.raises(InputRefused, match=why):
        state(stated, WHY, "olga")


def test_a_job_that_its_cluster_reports_is_not_dead(audited) -> None:
    now = timezone.now()
    job(cluster(at=now).name, at=now, job_id=JOB, terminal=False)
    with pytest.raises(InputRefused, match="not dead"):
        state(Stated("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")


def test_an_attestation_ends_when_its_job_is_heard_of_again(audited) -> None:
    now = timezone.now()
    made = state(Stated("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    job(
        cluster(at=now).name,
        at=now + timedelta(hours=1),
        job_id=JOB,
        terminal=False,
        last_completed_path=f"{ROOT}/{JOB}/chk-3",
    )
    assert statements.rows_of_request(audit("storage-2")) == []
    made.refresh_from_db()
    assert "alive" in made.ended_why


def test_an_attestation_ends_that_an_audit_contradicts(audited) -> None:
    made = state(Stated("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    later = audit("storage-2")
    statements.end_void(later)
    made.refresh_from_db()
    assert made.ended_at is None
    doubt(later, made.subject, reason="void_attestation", reach="job_directory")
    statements.end_void(later)
    made.refresh_from_db()
    assert made.ended_at


def test_one_that_was_taken_back_is_stated_again_anew(audited) -> None:
    first = state(Stated("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    take_back(first, "olga")
    second = state(Stated("dead_job", f"{ROOT}/{JOB}"), WHY, "ada")
    assert [row["stated_at"] for row in statements.rows_of_request(audit("storage-2"))] == [
        second.stated_at.isoformat()
    ]


def test_a_doubt_in_part_of_a_root_withholds_none_of_it(audited) -> None:
    AuditDoubt.objects.update(reach="jobs")
    StorageRoot.objects.update(attested_at=timezone.now(), attested_name="olga")
    planned, withheld = sort_roots(audited, [ROOT])
    assert planned and not withheld
    AuditDoubt.objects.update(reach="all_roots")
    planned, (held,) = sort_roots(audited, [ROOT])
    assert not planned and "doubts" in " ".join(held.reasons)
