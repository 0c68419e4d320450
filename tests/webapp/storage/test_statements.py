"""What operators state of storage by page and API: who may, what is refused, what is shown."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from spark_jobs.storage_words import STATEMENTS
from tests.webapp.builders import cluster, job
from tests.webapp.storage.builders import JOB, ROOT, audit, doubt, job_storage, root, root_figures
from webapp.cleanup.planning import sort_roots
from webapp.lib.refusals import InputRefused
from webapp.storage import statements
from webapp.storage.choices import StatementKind
from webapp.storage.models import AuditDoubt, StorageAudit, StorageRoot, StorageStatement
from webapp.storage.statements import StatedSubject, state, take_back

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
    assert not StorageStatement.objects.valid().exists()


def test_the_api_says_what_ends_a_doubt_and_what_is_stated(audited, viewer) -> None:
    state(StatedSubject("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    (row,) = viewer.get(reverse("api-storage-doubts-list")).json()["results"]
    assert row["reach"] == "all_roots" and row["blocked_bytes"] == 300 and row["actions"]
    (stated,) = viewer.get(reverse("api-storage-statements-list")).json()["results"]
    assert stated["reason"] == WHY and stated["ended_at"] is None


def test_what_no_database_holds_is_not_asked_for(audited, operator) -> None:
    address = reverse("storage-statement")
    nothing = operator.get(address, {"kind": "dead_job", "subject": "\x00"})
    long = {"kind": "excluded", "subject": ROOT + "/x" * 600, "reason": WHY}
    refused = operator.post(address, long | {"subject": "s3a:" + long["subject"][3:]})
    assert (nothing.status_code, refused.status_code) == (404, 200)
    assert not StorageStatement.objects.exists()


def test_of_many_statements_the_page_of_a_root_shows_the_newest(audited, operator) -> None:
    now = timezone.now()
    StorageStatement.objects.bulk_create(
        StorageStatement(
            kind="excluded",
            subject=f"{place}/{number}",
            reason=f"reason {number} of {place}",
            stated_at=now - timedelta(hours=number),
        )
        for number in range(102)
        for place in (ROOT, f"{ROOT}-2")
    )
    page = operator.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    assert f"reason 0 of {ROOT}<" in " ".join(page.split()).replace(" <", "<")
    assert f"reason 101 of {ROOT}" not in page and f"{ROOT}-2" not in page
    assert "The first 100 are shown" in page


def test_a_file_is_acknowledged_as_the_audit_found_it(audited) -> None:
    made = state(StatedSubject("foreign_file", FILE), WHY, "olga")
    assert (made.bytes, made.head_sha256) == (9, "0" * 64) and made.modified
    (row,) = statements.rows_of_request(audit("storage-2"))
    assert row["subject"] == FILE and row["modified"].startswith("2023-11-14")


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        (StatedSubject("foreign_file", f"{ROOT}/{JOB}/chk-9/_metadata"), "no doubt"),
        (StatedSubject("excluded", ROOT), "is a root"),
        (StatedSubject("excluded", "s3://elsewhere/x"), "no registered root"),
        (StatedSubject("dead_job", f"{ROOT}/{'f' * 32}"), "audit first"),
        (StatedSubject("dead_job", "", "prod-eu", "f" * 32), "knows no job"),
    ],
)
def test_what_is_not_so_is_refused(audited, stated: StatedSubject, why: str) -> None:
    with pytest.raises(InputRefused, match=why):
        state(stated, WHY, "olga")


def test_a_job_that_its_cluster_reports_is_not_dead(audited) -> None:
    now = timezone.now()
    job(cluster(at=now).name, at=now, job_id=JOB, terminal=False)
    with pytest.raises(InputRefused, match="not dead"):
        state(StatedSubject("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")


OTHERS = f"{ROOT}/{'b' * 32}"


def ended_job(path: str, job_id: str = JOB) -> dict[str, str]:
    """What is stated of a job that ended; its newest checkpoint lies there."""
    now = timezone.now()
    of = job(
        "gone", at=now - timedelta(days=9), job_id=job_id, terminal=True, last_completed_path=path
    )
    return {"cluster": of.cluster, "job_id": of.job_id}


@pytest.mark.parametrize("subject", [OTHERS, ROOT, "s3://elsewhere/x"])
def test_of_a_job_nothing_is_stated_about_a_directory_that_is_not_its_own(
    audited, subject: str
) -> None:
    known = ended_job(f"{ROOT}/{JOB}/chk-3")
    with pytest.raises(InputRefused, match="no directory of job"):
        state(StatedSubject("dead_job", subject, **known), WHY, "olga")
    made = state(StatedSubject("dead_job", f"{ROOT}/{JOB}/", **known), WHY, "olga")
    assert made.subject == f"{ROOT}/{JOB}"


def test_a_directory_that_a_job_of_the_same_id_writes_is_not_that_of_a_dead_one(audited) -> None:
    known = ended_job(f"{ROOT}/elsewhere/{JOB}/chk-3")
    now = timezone.now()
    writer = cluster(at=now).name
    job(writer, at=now, job_id=JOB, last_completed_path=f"s3a://bucket/checkpoints/{JOB}/chk-4")
    with pytest.raises(InputRefused, match="not dead"):
        state(StatedSubject("dead_job", f"{ROOT}/{JOB}", **known), WHY, "olga")
    assert state(StatedSubject("dead_job", f"{ROOT}/elsewhere/{JOB}", **known), WHY, "olga")


@pytest.mark.parametrize("spelled", [ROOT, ROOT.replace("s3:", "s3a:")])
def test_an_attestation_ends_when_its_job_is_heard_of_again(audited, spelled: str) -> None:
    now = timezone.now()
    made = state(StatedSubject("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    job(
        cluster(at=now).name,
        at=now + timedelta(hours=1),
        job_id=JOB,
        terminal=False,
        last_completed_path=f"{spelled}/{JOB}/chk-3",
    )
    assert statements.rows_of_request(audit("storage-2")) == []
    made.refresh_from_db()
    assert "alive" in made.ended_why


def test_many_attestations_cost_an_audit_as_many_queries_as_one(
    audited, django_assert_num_queries
) -> None:
    def attest(*numbers: int) -> None:
        StorageStatement.objects.bulk_create(
            StorageStatement(
                kind="dead_job",
                subject=f"{ROOT}/{number:032x}",
                job_id=f"{number:032x}",
                reason=WHY,
                stated_at=timezone.now(),
            )
            for number in numbers
        )

    later = audit("storage-2")
    attest(0)
    with CaptureQueriesContext(connection) as of_one:
        statements.rows_of_request(later)
    attest(*range(1, 40))
    with django_assert_num_queries(len(of_one)):
        statements.rows_of_request(later)


def test_what_can_be_stated_is_what_audits_know() -> None:
    assert set(StatementKind.values) == set(STATEMENTS)


def test_an_attestation_ends_that_an_audit_contradicts(audited) -> None:
    made = state(StatedSubject("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    later = audit("storage-2")
    statements.end_void(later)
    made.refresh_from_db()
    assert made.ended_at is None
    doubt(later, made.subject, reason="void_attestation", reach="job_directory")
    statements.end_void(later)
    made.refresh_from_db()
    assert made.ended_at


def test_one_that_was_taken_back_is_stated_again_anew(audited) -> None:
    first = state(StatedSubject("dead_job", f"{ROOT}/{JOB}"), WHY, "olga")
    take_back(first, "olga")
    second = state(StatedSubject("dead_job", f"{ROOT}/{JOB}"), WHY, "ada")
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


def test_who_sees_one_cluster_sees_of_a_doubt_what_lies_in_its_root(audited, viewer) -> None:
    AuditDoubt.objects.all().delete()
    StorageRoot.objects.get().clusters.set([cluster(at=timezone.now())])
    inside, elsewhere = f"{ROOT}/{JOB}", f"s3://elsewhere/{'b' * 32}"
    within = {"reach": "job_directory", "blocked_files": 7}
    doubt(audited, FILE, places=[inside], **within)
    doubt(audited, inside, reason="no_magic_number", places=[inside, elsewhere], **within)
    call_command("scope_user", "vera", 'cluster="prod-eu"', stdout=StringIO())
    rows = viewer.get(reverse("api-storage-doubts-list")).json()["results"]
    told = {row["subject"]: (row["places"], row["blocked_files"]) for row in rows}
    assert told == {FILE: ([inside], 7), inside: ([inside], None)}
    assert not any(row["statements"] for row in rows)
    AuditDoubt.objects.all().delete()
    page = viewer.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    assert "No doubt is about a file of this root" in page and "Everything could be" not in page
