"""Storage pages: what they show, and what they say where there is nothing yet."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import T0, cluster, fact, job
from tests.webapp.storage.builders import (
    JOB,
    OTHER_JOB,
    ROOT,
    audit,
    chain,
    checkpoint_storage,
    doubt,
    file_row,
    job_storage,
    missing,
    root,
    root_figures,
    verdict_figures,
    whole_audit,
    write_run,
)
from webapp.site import exposition
from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork

pytestmark = pytest.mark.django_db
OVERVIEW_QUERIES, ROOT_QUERIES = 22, 30
"""Session, person, roles, the state of the pipeline for the footer, and one for each table of the
page.
"""


def text(client, name, **parameters):
    answer = client.get(reverse(name), parameters)
    assert answer.status_code == 200, answer.content[:500]
    return " ".join(answer.content.decode().split())


def test_storage_without_any_root_says_what_to_do(viewer):
    assert "add_storage_root" in text(viewer, "storage")


def test_a_root_that_no_audit_has_seen_is_not_shown_as_clean(viewer):
    root()
    assert "? not audited" in text(viewer, "storage")
    assert "No audit yet" in text(viewer, "storage-root", uri=ROOT)


def test_the_overview_shows_each_root_with_its_totals(viewer):
    root()
    root_figures(audit())
    page = text(viewer, "storage")
    assert "can be cleaned" in page
    assert "300 kB" in page


def test_the_newest_audit_of_a_root_counts_whatever_was_audited_since(viewer):
    root_figures(audit("storage-1"), orphan_bytes=111_000)
    root_figures(audit("storage-2", as_of=T0 + timedelta(hours=6)), orphan_bytes=222_000)
    root_figures(
        audit("storage-3", as_of=T0 + timedelta(hours=7), roots=["s3://other"]),
        "s3://other",
        orphan_bytes=5,
    )
    page = text(viewer, "storage-root", uri=ROOT)
    assert "222 kB" in page
    assert "111 kB" not in page


def test_an_audit_that_is_half_loaded_is_not_shown(viewer):
    root()
    root_figures(audit(state="written"))
    assert "? not audited" in text(viewer, "storage")
    assert "begun" in text(viewer, "storage-root", uri=ROOT)


def test_an_audit_that_failed_is_told_beside_the_last_good_one(viewer):
    root_figures(audit())
    audit("storage-2", state="failed", error="The Spark job ended with exit code 1.")
    page = text(viewer, "storage-root", uri=ROOT)
    assert "exit code 1" in page
    assert "300 kB" in page


def test_the_page_of_a_root_says_why_in_words(viewer):
    of = audit()
    root_figures(of, cleanable=False, not_cleanable=["first_audit"])
    verdict_figures(of)
    page = text(viewer, "storage-root", uri=ROOT)
    assert "Two audits found nothing that refers to it" in page
    assert "Left by a job that has ended" in page
    assert "Nothing can be an orphan before a second audit." in page


def test_an_attestation_that_does_not_count_this_time_says_so_instead_of_being_missing(viewer):
    of = audit(withheld={ROOT: "The registered root s3://x is not part of this audit."})
    root_figures(of, cleanable=False, not_cleanable=["not_attested"])
    page = text(viewer, "storage-root", uri=ROOT)
    assert "The registered root s3://x is not part" in page
    assert "Nobody has attested" not in page


def test_a_job_that_needs_files_of_another_is_listed_with_it(viewer):
    of = audit()
    root_figures(of)
    job_storage(of, JOB, job_name="young-one")
    job_storage(of, OTHER_JOB, job_name="old-one", cluster="")
    chain(of)
    page = text(viewer, "storage-root", uri=ROOT)
    assert f"{JOB[:12]}…" in page and f"{OTHER_JOB[:12]}…" in page


def test_missing_files_name_who_needs_them_and_doubts_what_they_are(viewer):
    of = audit()
    root_figures(of, missing_files=1)
    missing(of)
    doubt(of)
    page = text(viewer, "storage-root", uri=ROOT)
    assert "that checkpoint cannot be restored" in page
    assert "A _metadata contradicts the format." in page


@pytest.mark.parametrize("rows", [1, 40])
def test_pages_cost_the_same_number_of_queries_however_many_rows(
    viewer, rows, django_assert_max_num_queries
):
    of = audit(roots=[f"{ROOT}{number}" for number in range(rows)])
    for number in range(rows):
        root_figures(of, f"{ROOT}{number}")
        root(f"{ROOT}{number}")
        job_storage(of, f"{number:032x}", f"{ROOT}0")
        checkpoint_storage(of, number, uri=f"{ROOT}0")
        chain(of, f"{number:032x}", f"{number + 1:032x}", f"{ROOT}0")
        missing(of, f"{ROOT}0/{number}", f"{ROOT}0")
    with django_assert_max_num_queries(OVERVIEW_QUERIES):
        viewer.get(reverse("storage"))
    with django_assert_max_num_queries(ROOT_QUERIES):
        viewer.get(reverse("storage-root"), {"uri": f"{ROOT}0"})


def test_jobs_and_checkpoints_are_paged(viewer):
    of = audit()
    root_figures(of)
    for number in range(60):
        job_storage(of, f"{number:032x}", bytes=number)
    seen, cursor = [], ""
    for _ in range(5):
        answer = viewer.get(reverse("storage-root"), {"uri": ROOT, "jobs": cursor})
        seen += [row.job_id for row in answer.context["jobs"].rows]
        cursor = answer.context["jobs"].next_cursor
        if not cursor:
            break
    assert seen == [f"{number:032x}" for number in reversed(range(60))]


def test_an_unknown_root_is_not_found(viewer):
    assert viewer.get(reverse("storage-root"), {"uri": "s3://nobody"}).status_code == 404
    assert viewer.get(reverse("storage-files"), {"uri": "s3://nobody"}).status_code == 404
    assert viewer.get(reverse("storage-files"), {"uri": "s3://a\x00"}).status_code == 404


def test_files_that_are_not_live_are_listed_with_their_reason(viewer, tmp_path):
    path = write_run(
        tmp_path,
        "storage-1",
        {"storage_file": [[file_row(f"{ROOT}/{JOB}/shared/{n:03d}") for n in range(60)]]},
    )
    root_figures(audit(files_kept=True, manifest_path=path, run_dir=str(tmp_path)))
    first = viewer.get(reverse("storage-files"), {"uri": ROOT})
    assert "Two audits found nothing" in first.content.decode()
    second = viewer.get(
        reverse("storage-files"), {"uri": ROOT, "after": first.context["found"].after}
    )
    assert len(first.context["rows"]) + len(second.context["rows"]) == 60
    wrong = viewer.get(reverse("storage-files"), {"uri": ROOT, "verdict": "live"})
    assert (
        wrong.context["rows"] == []
        and "&#x27;live&#x27; cannot be used. Give one of" in wrong.content.decode()
    )
    assert (
        viewer.get(reverse("storage-files-export"), {"uri": ROOT, "verdict": "live"}).status_code
        == 400
    )


def test_tables_are_exported_whole(viewer, tmp_path):
    rows = [
        file_row(f"{ROOT}/{n:03d}", verdict="recent" if n % 2 else "orphan") for n in range(150)
    ]
    of = audit(
        files_kept=True,
        manifest_path=write_run(tmp_path, "storage-1", {"storage_file": [rows]}),
        run_dir=str(tmp_path),
    )
    root_figures(of)
    job_storage(of)
    address = reverse("storage-files-export")
    told = b"".join(
        viewer.get(address, {"uri": ROOT, "verdict": "recent"}).streaming_content
    ).decode()
    assert (told.count("/149"), told.count("/148"), told.count("recent")) == (2, 0, 75)


def test_figures_of_storage_are_metrics():
    root_figures(audit())
    text = exposition.render(timezone.now())
    assert f'weir_storage_bytes{{root="{ROOT}",verdict="orphan"}} 300000' in text


def test_files_of_an_audit_whose_list_is_gone_are_unknown_and_not_none(viewer):
    root_figures(audit())
    assert "no longer kept" in text(viewer, "storage-files", uri=ROOT)


def test_charts_tell_that_there_is_nothing_yet_and_draw_what_there_is(viewer):
    root_figures(audit("storage-1"))
    assert viewer.get(reverse("storage-chart-history")).json()["empty"]["title"] == "No trend yet"
    root_figures(audit("storage-2", as_of=T0 + timedelta(hours=6)), orphan_bytes=500_000)
    answer = viewer.get(reverse("storage-chart-history"), {"uri": ROOT}).json()
    orphans = next(trace for trace in answer["figure"]["data"] if trace["name"] == "orphan")
    assert orphans["hovertext"][1].startswith("orphan 500 kB")


def test_all_roots_together_stand_as_they_were_last_audited(viewer):
    root_figures(audit("storage-1"), "s3://a", orphan_bytes=100)
    root_figures(audit("storage-2", as_of=T0 + timedelta(hours=1)), "s3://b", orphan_bytes=10)
    answer = viewer.get(reverse("storage-chart-history")).json()
    orphans = next(trace for trace in answer["figure"]["data"] if trace["name"] == "orphan")
    assert [words.split(" in ")[0] for words in orphans["hovertext"]] == [
        "orphan 100 B",
        "orphan 110 B",
    ]


def test_a_viewer_sees_roots_and_changes_none(viewer):
    one = root()
    for name, args in (("storage-root-add", ()), ("storage-root-edit", (one.pk,)), ("storage-root-attest", (one.pk,)),
                       ("storage-root-remove", (one.pk,)), ("storage-audit-now", ())):  # fmt: skip
        assert viewer.post(reverse(name, args=args)).status_code == 403
    assert "Add a root" not in text(viewer, "storage")


def test_an_operator_adds_a_root_in_any_spelling_and_an_audit_is_due(operator):
    cluster(at=timezone.now())
    answer = operator.post(
        reverse("storage-root-add"),
        {"uri": "s3a://bucket//flink/", "kind": "checkpoints", "enabled": "on"},
    )
    assert answer.status_code == 302
    assert StorageRoot.objects.get().uri == "s3://bucket/flink"
    assert DueWork.objects.filter(key="storage/audit", next_attempt_at__lte=timezone.now()).exists()


@pytest.mark.parametrize(
    "uri", ["s3://bucket/flink/below", "s3n://bucket", "no uri", "s3a://bucket/flink"]
)
def test_a_root_within_another_or_nowhere_is_refused(operator, uri):
    root("s3://bucket/flink")
    answer = operator.post(
        reverse("storage-root-add"), {"uri": uri, "kind": "checkpoints", "enabled": "on"}
    )
    assert (answer.status_code, StorageRoot.objects.count()) == (200, 1)
    assert "errorlist" in answer.content.decode()


def test_a_quarantine_within_a_root_is_refused(operator):
    data = {
        "uri": "s3://bucket/flink",
        "kind": "checkpoints",
        "enabled": "on",
        "quarantine_uri": "s3://bucket/flink/away",
    }
    assert "outside all roots" in operator.post(reverse("storage-root-add"), data).content.decode()


def test_an_attestation_carries_the_name_of_who_gave_it_and_can_be_taken_back(operator):
    one = root()
    asked = operator.post(reverse("storage-root-attest", args=(one.pk,))).content.decode()
    one.refresh_from_db()
    assert "Are these all readers?" in asked and not one.is_attested
    operator.post(reverse("storage-root-attest", args=(one.pk,)), {"confirmed": "1"})
    one.refresh_from_db()
    assert (one.is_attested, one.attested_name) == (True, "olga")
    operator.post(reverse("storage-root-attest", args=(one.pk,)), {"withdraw": "1"})
    one.refresh_from_db()
    assert not one.is_attested


def test_directories_that_jobs_write_to_are_suggested_until_they_are_roots(viewer):
    now = timezone.now()
    cluster(at=now)
    of = job(at=now, configuration={"state.savepoints.dir": "hdfs://ns/sp"})
    fact(of, 1, now - timedelta(minutes=5), external_path=f"s3a://bucket/flink/{JOB}/chk-1")
    page = text(viewer, "storage")
    assert "s3://bucket/flink<" in page
    assert "hdfs://ns/sp" in page
    root("s3://bucket")
    assert "s3://bucket/flink<" not in text(viewer, "storage")


@pytest.mark.parametrize(
    "name",
    [
        "storage",
        "storage-root",
        "storage-files",
        "storage-xray",
        "storage-chart-history",
    ],
)
def test_nobody_sees_storage_without_signing_in(client, name):
    whole_audit()
    assert client.get(reverse(name), {"uri": ROOT}).status_code == 302


def test_settings_of_storage_have_sane_defaults():
    assert (settings.WEIR.storage_audit_h, settings.WEIR.storage_age_guard_h) == (6, 72)
