"""Paging by keys on real rows."""

import base64
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.builders import T0, unsaved_job
from webapp.fleet.models import JobCurrent
from webapp.fleet.sorting import FLEET_SORTS
from webapp.lib.keysets import BadCursor, KeysetColumn, page


def _pages(keys, size):
    """Job ids page by page, forwards, then backwards from the last."""
    forwards, cursor, previous = [], "", ""
    while True:
        found = page(JobCurrent.objects.all(), keys, cursor, size)
        forwards.append([job.pk for job in found.rows])
        cursor, previous = found.next_cursor, found.previous_cursor
        if not cursor:
            break
    backwards = [forwards[-1]]
    while previous:
        found = page(JobCurrent.objects.all(), keys, previous, size)
        backwards.append([job.pk for job in found.rows])
        previous = found.previous_cursor
    return forwards, backwards


@pytest.mark.django_db
@pytest.mark.parametrize("sort", FLEET_SORTS.values(), ids=lambda sort: sort.name)
@pytest.mark.parametrize("descending", [True, False])
def test_pages_show_every_row_once_in_either_direction(sort, descending):
    rows = [
        unsaved_job(
            at=T0,
            name=None if n % 5 == 0 else f"n{n % 3}",
            state_bytes=None if n % 4 == 0 else n % 3,
            restarts=n % 2,
        )
        for n in range(23)
    ]
    JobCurrent.objects.bulk_create(rows)
    forwards, backwards = _pages(
        (KeysetColumn("sort_key", descending, sort.key), KeysetColumn("id", descending)), 5
    )
    seen = [pk for rows in forwards for pk in rows]
    assert sorted(seen) == sorted(JobCurrent.objects.values_list("pk", flat=True))
    assert list(reversed(backwards)) == forwards


@pytest.mark.django_db
def test_names_of_any_letters_are_keys_too():
    JobCurrent.objects.bulk_create(
        [unsaved_job(at=T0, name=f"{n}" + "\U0001f984" * 299) for n in range(4)]
    )
    forwards, _backwards = _pages(
        (KeysetColumn("sort_key", False, FLEET_SORTS["name"].key), KeysetColumn("id")), 3
    )
    assert [len(rows) for rows in forwards] == [3, 1]


@pytest.mark.django_db
def test_instants_are_keys_too():
    JobCurrent.objects.bulk_create(
        [unsaved_job(at=T0, as_of=T0 + timedelta(milliseconds=n)) for n in range(4)]
    )
    forwards, _backwards = _pages(
        (KeysetColumn("as_of", descending=True), KeysetColumn("id", descending=True)), 3
    )
    assert [len(rows) for rows in forwards] == [3, 1]


@given(st.text(max_size=60))
def test_a_cursor_that_nobody_made_is_refused(cursor):
    if cursor:
        with pytest.raises(BadCursor):
            page(JobCurrent.objects.none(), (KeysetColumn("id"),), cursor, 5)


@pytest.mark.django_db
@pytest.mark.parametrize("value", [["x"], {"at": 5}, {"at": "no time"}, None, 2**70, "\x00"])
def test_a_cursor_with_other_values_is_refused(value):
    cursor = base64.urlsafe_b64encode(json.dumps([False, [value]]).encode()).decode()
    with pytest.raises(BadCursor):
        page(JobCurrent.objects.all(), (KeysetColumn("as_of"),), cursor, 5)
