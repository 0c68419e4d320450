"""How much Weir keeps, recounted by other means."""

from datetime import UTC, datetime, timedelta
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
def measured(home: Path) -> dict[tuple[str, str], KeptSize]:
    for day in range(3):
        at = AT + timedelta(days=day)
        rows = tuple(
            LogRecord(
                "jm.log", at, "WARN", "a.b.C", f"x{n}", f"{day * 10 + n:032x}", 0, "jm.log", n
            )
            for n in range(5)
        )
        Lake(str(home / "lake")).append([Observed("c", at, "log", rows)])
    for folder, size in (
        ("runs/spark-20261121T000000-00000000", 700),
        ("runs/storage-x", 30),
        ("pushed/c", 9),
        ("demo", 2),
    ):
        (home / folder).mkdir(parents=True)
        (home / folder / "file").write_bytes(b"x" * size)
    DueWork.objects.ensure({stored_sizes.KEY: 600}, timezone.now())
    perform(stored_sizes.KEY)
    return {(row.area, row.name): row for row in KeptSize.objects.all()}


def test_folders_take_what_their_files_are_long(
    home: Path, measured: dict[tuple[str, str], KeptSize]
) -> None:
    assert measured["runs", "spark: 1 run directories"].size_bytes == 700
    assert measured["runs", "storage: 1 run directories"].size_bytes == 30
    assert measured["pushed", "pushed"].files == 1
    assert measured["other", "everything else in WEIR_HOME"].size_bytes == 2


def test_a_table_of_the_lake_tells_commits_and_its_oldest_day(
    home: Path, measured: dict[tuple[str, str], KeptSize]
) -> None:
    table = measured["lake", "log_records"]
    files = [path for path in (home / "lake" / "log_records").rglob("*") if path.is_file()]
    assert (table.size_bytes, table.files) == (
        sum(path.stat().st_size for path in files),
        len(files),
    )
    assert (table.commits, table.oldest_at) == (
        Lake(str(home / "lake")).version("log_records"),
        AT.replace(hour=0, minute=0),
    )


def test_the_database_tells_its_tables(measured: dict[tuple[str, str], KeptSize]) -> None:
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor))
    of_database = {name: row for (area, name), row in measured.items() if area == "tables"}
    assert set(of_database) == names
    assert all(row.size_bytes for row in of_database.values())
    assert connection.vendor == "postgresql" or of_database["work_duework"].rows == 1


def test_what_is_measured_again_replaces_what_was_known(
    measured: dict[tuple[str, str], KeptSize],
) -> None:
    perform(stored_sizes.KEY, even_if_not_due=True)
    assert {(row.area, row.name) for row in KeptSize.objects.all()} == set(measured)


def test_the_page_says_how_much_is_kept(
    measured: dict[tuple[str, str], KeptSize], viewer: Client, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(25):
        page = viewer.get("/pipeline/kept/").content.decode()
    assert "Clean-up plans and journals" in page and "? not measured" not in page


def test_before_it_is_measured_the_page_says_so(home: Path, viewer: Client) -> None:
    assert "? not measured yet" in viewer.get("/pipeline/kept/").content.decode()
