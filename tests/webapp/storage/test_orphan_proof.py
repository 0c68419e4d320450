"""What nothing refers to is shown as that, with when it can be proven; and an attestation says
since when it counts.
"""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp.builders import T0, cluster
from tests.webapp.storage.builders import (
    ROOT,
    audit,
    job_storage,
    root,
    root_figures,
    verdict_figures,
)
from webapp.storage.auditing import fleet_orphan_bytes
from webapp.storage.models import StorageAudit, VerdictFigures
from webapp.storage.orphan_proof import forecast, summed_unreferenced, unreferenced

pytestmark = pytest.mark.django_db
GUARD = timedelta(hours=72)


def young(of: StorageAudit, reason: str, size: int = 25_000_000) -> StorageAudit:
    verdict_figures(of, verdict="recent", reason=reason, kind="", files=2, bytes=size)
    return of


def seen(*reasons: str):
    of = audit()
    return unreferenced(
        of,
        [
            verdict_figures(of, verdict="recent", reason=reason, kind="", files=2, bytes=10)
            for reason in reasons
        ],
    )


def test_the_age_guard_counts_from_the_audit_at_the_latest() -> None:
    found = seen("age_guard", "first_audit")
    assert found and (found.files, found.bytes, found.provable_from, found.awaits_job) == (
        4,
        20,
        T0 + GUARD,
        False,
    )


def test_what_needs_a_second_audit_only_is_provable_by_the_next() -> None:
    found = seen("first_audit")
    assert found and found.provable_from == T0 + timedelta(hours=6)


def test_what_waits_for_its_job_has_no_time() -> None:
    found = seen("no_checkpoint_since")
    assert found and (found.provable_from, found.awaits_job) == (None, True)


def test_without_such_files_there_is_nothing_to_prove() -> None:
    of = audit()
    assert unreferenced(of, [verdict_figures(of)]) is None
    assert summed_unreferenced([]) is None


def test_the_forecast_adds_up_what_becomes_provable_and_says_what_shortens_it(
    viewer: Client,
) -> None:
    root()
    of = young(young(young(audit(), "first_audit"), "age_guard"), "no_checkpoint_since")
    root_figures(of, recent_files=6, recent_bytes=75_000_000)
    steps = forecast(of, VerdictFigures.objects.filter(audit=of))
    assert [(step.at, step.files, step.bytes) for step in steps] == [
        (T0 + timedelta(hours=6), 2, 25_000_000),
        (T0 + GUARD, 4, 50_000_000),
        (None, 6, 75_000_000),
    ]
    page = viewer.get(f"{reverse('storage-root')}?uri={ROOT}").content.decode()
    assert all(str(step.shortened_by) in page for step in steps)


def test_what_is_proven_already_is_in_no_forecast(viewer: Client) -> None:
    root()
    of = audit()
    root_figures(of)
    assert forecast(of, [verdict_figures(of)]) == []
    assert (
        "become provable"
        not in viewer.get(f"{reverse('storage-root')}?uri={ROOT}").content.decode()
    )


def test_pages_show_unreferenced_bytes_and_when_they_are_provable_instead_of_no_orphans(
    viewer: Client,
) -> None:
    root()
    of = young(audit(), "age_guard")
    root_figures(of, orphan_files=0, orphan_bytes=0, recent_files=2, recent_bytes=25_000_000)
    for address in (reverse("storage"), f"{reverse('storage-root')}?uri={ROOT}"):
        page = " ".join(viewer.get(address).content.decode().split())
        assert f"provable from {T0 + GUARD:%m-%d %H:%M}" in page, address
        assert "25 MB" in page
    assert "none proven" in " ".join(viewer.get(reverse("storage")).content.decode().split())


def test_an_audit_that_raced_checkpoints_says_so(viewer: Client) -> None:
    root()
    of = young(audit(), "age_guard")
    figures = root_figures(of, recent_files=55, live_files=8, metadata_files=3, replaced=2)
    address = f"{reverse('storage-root')}?uri={ROOT}"
    words = "2 had been replaced by newer ones before they were read"
    assert words in " ".join(viewer.get(address).content.decode().split())
    for unraced in (0, None):
        figures.replaced = unraced
        figures.save()
        assert "had been replaced" not in viewer.get(address).content.decode()


class _Lease:
    def writing(self):
        from django.db import transaction

        return transaction.atomic()


@pytest.mark.parametrize(("orphans", "unproven", "shown"), [(0, 25, None), (0, 0, 0), (7, 25, 7)])
def test_the_fleet_shows_no_zero_while_something_is_not_proven(
    orphans: int, unproven: int, shown: int | None
) -> None:
    from tests.webapp.builders import job

    of = job(at=T0)
    found = audit()
    root_figures(found)
    job_storage(found, of.job_id, orphan_bytes=orphans, recent_bytes=unproven, cluster=of.cluster)
    fleet_orphan_bytes.copy_to_fleet(found, _Lease())  # type: ignore[arg-type]
    of.refresh_from_db()
    assert of.orphan_bytes == shown


def test_attesting_lists_the_known_readers_first(operator: Client) -> None:
    one = root()
    one.clusters.add(cluster("prod-eu", at=T0))
    found = audit()
    root_figures(found)
    job_storage(found)
    job_storage(found, "c" * 32, cluster="")
    page = operator.get(reverse("storage-root-attest", args=(one.pk,))).content.decode()
    assert "prod-eu" in page and "no registered cluster" in page
    one.refresh_from_db()
    assert not one.is_attested


def test_an_attestation_that_no_audit_counted_yet_is_told(viewer: Client) -> None:
    root(attested_at=T0 + timedelta(hours=1), attested_name="olga")
    root_figures(audit("storage-1"))
    address = f"{reverse('storage-root')}?uri={ROOT}"
    assert "It does not count yet" in viewer.get(address).content.decode()
    root_figures(audit("storage-2", as_of=T0 + timedelta(hours=6)))
    assert "It does not count yet" not in viewer.get(address).content.decode()
