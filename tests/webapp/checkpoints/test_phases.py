"""Phases in the list of checkpoints are those that the chart draws."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job
from webapp.charts.checkpoints import CheckpointBar
from webapp.checkpoints.querysets import bars, of_job
from webapp.lib.quantities import duration_text

pytestmark = pytest.mark.django_db
PHASES = ("start_delay", "alignment", "sync", "async")


def row_and_bar(viewer, of) -> tuple[list[str], CheckpointBar]:
    page = viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
    row = page.split('id="checkpoints"')[1].split("<tbody>")[1].split("</tr>")[0]
    cells = [" ".join(cell.split("</td>")[0].split()) for cell in row.split('<td class="n wide">')]
    now = timezone.now()
    ([bar], _) = bars(of_job(of.cluster, of.job_id, now - timedelta(days=1), now), of.cluster)
    return cells[1:], bar


def test_row_and_chart_show_the_phases_of_the_same_subtask(viewer):
    """The largest of each phase may be of four subtasks, and more together than the checkpoint."""
    now = timezone.now()
    cluster(at=now)
    of = job(at=now)
    largest = {"start_delay_ms": 2_500, "alignment_ms": 2_400, "sync_ms": 900, "async_ms": 1_800}
    fact(of, 7, now - timedelta(minutes=1), **largest)
    cells, bar = row_and_bar(viewer, of)
    assert [cell.split(" <")[0] for cell in cells] == [
        duration_text(getattr(bar, f"{phase}_ms")) for phase in PHASES
    ]


def test_the_largest_of_any_subtask_says_so_where_no_slowest_is_known(viewer):
    now = timezone.now()
    cluster(at=now)
    of = job(at=now)
    unknown = {f"slowest_{phase}_ms": None for phase in (*PHASES, "end_to_end")}
    fact(of, 7, now - timedelta(minutes=1), **unknown)
    cells, _bar = row_and_bar(viewer, of)
    assert all("≤" in cell and "largest of any subtask" in cell for cell in cells)
