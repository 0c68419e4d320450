"""Raw bytes of HDFS: the factor that is declared or configured, beside each total; unknown is shown
as that.
"""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from tests.webapp import builders
from tests.webapp.storage.builders import audit, job_storage, root_figures
from webapp.lib.quantities import bytes_text
from webapp.storage.models import RootFigures, StorageRoot
from webapp.storage.replication_factor import (
    OPTION,
    factor_of,
    factor_of_path,
    factors_of,
)

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 1, tzinfo=UTC)
HDFS = "hdfs://ns/flink"


def root(uri: str = HDFS, *clusters: str, **fields: object) -> StorageRoot:
    found = StorageRoot.objects.create(uri=uri, **fields)
    found.clusters.set([builders.cluster(name, at=AT) for name in clusters])
    return found


def configured(cluster: str, value: object) -> None:
    builders.job(
        cluster,
        at=AT,
        job_id=f"{cluster}{value}".ljust(32, "0"),
        configuration={OPTION: value, "other": "1"},
    )


def test_what_is_declared_counts_before_what_is_configured() -> None:
    of = root(HDFS, "a", replication=2)
    configured("a", "3")
    found = factor_of(of)
    assert (found.factor, found.raw(10), found.raw(None)) == (2, 20, None)
    assert found.why == "as declared for the root"


def test_the_hdfs_client_of_flink_says_it_where_nobody_declared_it() -> None:
    of = root(HDFS, "a")
    configured("a", "3")
    assert factor_of(of).factor == 3


@pytest.mark.parametrize("values", [(), ("3", "2"), ("many",), ("3", "9999")])
def test_a_factor_that_is_not_configured_or_differs_is_unknown_and_it_is_said_what_to_do(
    values: tuple[str, ...],
) -> None:
    of = root(HDFS, "a")
    for value in values:
        configured("a", value)
    found = factor_of(of)
    assert found.factor is None
    assert "Declare it in the settings of the root." in found.why


def test_it_is_no_matter_of_storages_that_are_not_hdfs() -> None:
    of = root("s3://bucket/flink", "a")
    configured("a", "3")
    assert (factor_of(of).factor, factor_of(of).why, factor_of(None).why) == (None, "", "")


def test_many_roots_take_one_query(django_assert_num_queries: object) -> None:
    for number in range(3):
        root(f"hdfs://ns{number}/flink", f"c{number}")
    roots = list(StorageRoot.objects.prefetch_related("clusters"))
    with django_assert_num_queries(2):  # type: ignore[operator]  # pytest-django's fixture
        assert len(factors_of(roots)) == 3


@pytest.mark.parametrize("value", [0, 513])
def test_no_other_number_of_copies_is_taken(value: int) -> None:
    with pytest.raises(ValidationError):
        StorageRoot(uri=HDFS, replication=value).full_clean()


def test_pages_and_api_show_raw_bytes_beside_each_total(viewer: Client) -> None:
    figures = root_figures(audit(roots=[HDFS]), HDFS, bytes=2 * 1024**3)
    of = root(HDFS, "a", replication=3)
    for name in ("storage", "storage-root"):
        page = viewer.get(reverse(name), {"uri": HDFS}).content.decode()
        assert bytes_text(figures.bytes * 3) in page, name
    (told,) = viewer.get(reverse("api-storage-roots-list")).json()["results"]
    assert (told["replication_factor"], told["replication_why"]) == (3, "as declared for the root")
    StorageRoot.objects.filter(pk=of.pk).update(replication=None)
    page = viewer.get(reverse("storage-root"), {"uri": HDFS}).content.decode()
    assert "? Raw bytes are unknown" in page


def test_what_the_listing_says_of_each_file_counts_before_what_is_declared(viewer: Client) -> None:
    of = root(HDFS, "a", replication=3)
    listed = audit(roots=[HDFS])
    root_figures(listed, HDFS, bytes=1_000_000, raw_bytes=2_000_000)
    job_storage(listed, uri=HDFS, bytes=600_000, raw_bytes=1_700_000)
    assert (factor_of(of).factor, factor_of(of).why) == (2, "as the listing says of each file")
    page = viewer.get(reverse("storage-root"), {"uri": HDFS}).content.decode()
    assert "2.0 MB" in page and "1.7 MB raw" in page and "1.8 MB" not in page
    RootFigures.objects.update(raw_bytes=2_400_000)
    found = factor_of(of)
    assert (found.factor, found.raw(1_000_000), found.why) == (
        2.4,
        2_400_000,
        "on average, as the listing says of each file",
    )


def test_a_file_is_stored_as_often_as_the_deepest_root_that_holds_it_says() -> None:
    root(HDFS, replication=3)
    root(f"{HDFS}/cold", replication=2)
    found = [
        factor_of_path(path).factor
        for path in (f"{HDFS}/a/chk-1/_metadata", f"{HDFS}/cold/x", f"{HDFS}er/x", "s3://b/x")
    ]
    assert found == [3, 2, None, None]


def test_the_sum_over_all_roots_has_raw_bytes_where_they_agree(viewer: Client) -> None:
    listed = audit(roots=[HDFS, "hdfs://two/flink"])
    for uri in (HDFS, "hdfs://two/flink"):
        root(uri, replication=3)
        root_figures(listed, uri, live_bytes=2_000_000)
    page = viewer.get(reverse("storage")).content.decode()
    assert f"{bytes_text(12_000_000)} raw" in page  # 2 × 2 MB live, three times each
    StorageRoot.objects.filter(uri=HDFS).update(replication=2)
    assert f"{bytes_text(12_000_000)} raw" not in viewer.get(reverse("storage")).content.decode()
