"""The page of a checkpoint that was lost names who had not acknowledged, not the slowest of those
that did.
"""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, expired, fact, job
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.querysets import bars
from webapp.checkpoints.subtasks import parts_of
from webapp.lib.instants import epoch_ms

pytestmark = pytest.mark.django_db
SILENT = [
    {
        "vertex_id": "e",
        "vertex_name": "enrich",
        "subtasks": [1, 2, 3],
        "count": 3,
        "hosts": ["tm-2"],
    }
]
SLOWEST = {"slowest_vertex_name": "quick-source", "slowest_subtask": 0, "slowest_end_to_end_ms": 42}


@pytest.fixture
def of():
    at = timezone.now().replace(microsecond=0)
    cluster(at=at)
    return job(at=at, checkpoint_timeout_ms=4_000)


def page(client, one):
    return client.get(
        reverse(
            "checkpoint",
            args=(one.cluster, one.job_id, one.checkpoint_id, epoch_ms(one.trigger_time)),
        )
    )


def test_a_lost_checkpoint_names_those_that_never_acknowledged(viewer, of):
    lost = expired(
        of,
        7,
        timezone.now().replace(microsecond=0) - timedelta(minutes=1),
        not_acknowledged=SILENT,
        subtasks=8,
        acknowledged=5,
        **SLOWEST,
    )
    shown = page(viewer, lost)
    assert (shown.context["cause"].lacking, shown.context["cause"].laggards) == (
        3,
        "3 of 8 subtasks: enrich (3) on tm-2",
    )
    assert "Not acknowledged" in shown.content.decode()
    assert "quick-source/0" not in shown.content.decode().split("<h3")[0]
    (bar,), _ = bars(CheckpointFact.objects.all(), of.cluster)
    assert bar.slowest is None


def test_a_completed_checkpoint_names_its_slowest_subtask(viewer, of):
    shown = page(
        viewer, fact(of, 7, timezone.now().replace(microsecond=0) - timedelta(minutes=1), **SLOWEST)
    ).content.decode()
    assert "quick-source/0" in shown
    assert "Not acknowledged" not in shown


def test_a_subtask_whose_snapshot_was_aborted_had_not_acknowledged():
    """Flink gives these a time of acknowledgement, and does not count them."""
    at = timezone.now()
    lists = {
        name: [1, 1]
        for name in ("end_to_end_ms", "start_delay_ms", "alignment_ms", "sync_ms", "async_ms")
    }
    occurrence = {
        **{f"subtask_{name}": values for name, values in lists.items()},
        "subtask_ack_time": [at, at],
        "subtask_aborted": [False, True],
        "subtask_state_bytes": [5, 5],
        "subtask_checkpointed_bytes": None,
        "subtask_unaligned": None,
        "vertex_id": "e",
        "status": "FAILED",
        "subtasks": 2,
        "acknowledged": 1,
        "observed_at": at,
        "commit_seq": 1,
    }
    silent, acknowledged = parts_of([occurrence], {"e": "enrich"})
    assert (silent.subtask, silent.acknowledged_at, acknowledged.acknowledged_at) == (1, None, at)
    assert (acknowledged.state_bytes, acknowledged.checkpointed_bytes) == (None, 5)
