"""A job that comes again and again under new ids stays one row, wherever jobs are listed."""

import csv
import io
from datetime import datetime, timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from tests.webapp.builders import cluster, job

pytestmark = pytest.mark.django_db
TURN = timedelta(minutes=15)
OF_A_DAY = 96


def played(name: str, turns: int, until: datetime) -> None:
    """One id after the other, as a replay makes them; the last one runs."""
    for turn in range(turns):
        began = until - TURN * (turns - turn)
        ended = {"state": "CANCELED", "terminal": True, "end_time": began + TURN}
        job(
            "demo",
            at=min(began + TURN, until),
            name=name,
            start_time=began,
            **({} if turn == turns - 1 else ended),
        )


@pytest.mark.parametrize("turns", [1, OF_A_DAY])
def test_the_fleet_has_as_many_rows_after_a_day_of_new_ids_as_after_one(
    viewer: Client, turns: int
) -> None:
    now = timezone.now()
    cluster("demo", at=now)
    for name in ("orders", "payments"):
        played(name, turns, now)
    cache.clear()
    listed = viewer.get("/api/v1/jobs/").json()["results"]
    exported = b"".join(viewer.get("/fleet.csv").streaming_content).decode()  # type: ignore[attr-defined]
    page = viewer.get("/")

    assert sorted(row["name"] for row in listed) == ["orders", "payments"]
    assert len(list(csv.DictReader(io.StringIO(exported)))) == 2
    assert len(page.context["rows"]) == 2
