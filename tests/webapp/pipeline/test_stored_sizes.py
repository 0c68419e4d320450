"""How much Weir keeps, recounted by other means."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import LogRecord, Observed
from webapp.pipeline import stored_sizes
from webapp.work.models import DueWork, KeptSize
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 20, 23, 59, tzinfo=UTC)


@pytest.fixture
def measured(home: Path) -> dict[str, int | None]:
    row = LogRecord("jm.log", AT, "WARN", "a.b.C", "x", f"{0:032x}", 0, "jm.log", 0)
    Lake(str(home / "lake")).append([Observed("c", AT, "log", (row,))])
    for folder, size in (
        ("runs/spark-20261121T000000-00000000", 700),
        ("runs/storage-x", 30),
        ("pushed/c", 9),
        ("demo", 2),
    ):
        (home / folder).mkdir(parents=True)
        (home / folder / "file").write_bytes(b"x" * size)
    (home / "demo" / "link").symlink_to(home / "runs")
    DueWork.objects.ensure({stored_sizes.KEY: 600}, timezone.now())
    perform(stored_sizes.KEY)
    return dict(KeptSize.objects.values_list("area", "size_bytes"))


def test_an_area_takes_what_its_files_are_long(home: Path, measured: dict[str, int | None]) -> None:
    link_bytes = (home / "demo" / "link").lstat().st_size
    lake_files = [path for path in (home / "lake").rglob("*") if path.is_file()]
    assert measured["lake"] == sum(path.stat().st_size for path in lake_files)
    assert (measured["runs"], measured["pushed"]) == (730, 9)
    assert measured["other"] == 2 + link_bytes
    assert connection.vendor == "postgresql" or measured["database"] is not None


def test_what_is_measured_again_replaces_what_was_known(
    home: Path, measured: dict[str, int | None]
) -> None:
    (home / "demo" / "file").write_bytes(b"xyz")
    perform(stored_sizes.KEY, even_if_not_due=True)
    again = dict(KeptSize.objects.values_list("area", "size_bytes"))
    assert again.keys() == measured.keys()
    assert (again["other"] or 0) - (measured["other"] or 0) == 1


def test_the_page_says_how_much_is_kept(
    measured: dict[str, int | None], viewer: Client, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(25):
        page = viewer.get("/pipeline/kept/").content.decode()
    assert "Clean-up plans and journals" in page and "? not measured" not in page


def test_before_it_is_measured_the_page_says_so(home: Path, viewer: Client) -> None:
    assert "? not measured yet" in viewer.get("/pipeline/kept/").content.decode()
