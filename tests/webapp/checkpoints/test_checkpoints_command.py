"""``manage.py checkpoints``: facts as JSON lines."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from spark_jobs.serving import CHECKPOINT_FACT
from tests.webapp.pipeline.runs import AT, fact, job
from webapp.fleet.models import Cluster
from webapp.pipeline.table_models import SERVED
from webapp.work.upserts import upsert

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _facts(db: None) -> None:
    rows = [
        fact(
            2,
            trigger_time=AT + timedelta(minutes=1),
            outcome="declined",
            reason="CHECKPOINT_DECLINED",
        ),
        fact(
            1,
            is_savepoint=True,
            end_to_end_ms=12,
            state_bytes=34,
            checkpointed_bytes=5,
            subtasks=4,
            acknowledged=4,
        ),
        fact(9, cluster="other", job_id="b" * 32),
    ]
    for name, stored in (("checkpoint_fact", rows), ("job_current", [job(name="orders")])):
        upsert(SERVED[name].table, SERVED[name].model, stored, SERVED[name].derived)


def printed(*options: str) -> list[str]:
    said = StringIO()
    call_command("checkpoints", *options, stdout=said)
    return said.getvalue().splitlines()


def test_each_fact_is_one_object_a_line_with_every_column() -> None:
    facts = [json.loads(line) for line in printed()]
    assert tuple(facts[0]) == CHECKPOINT_FACT.column_names
    assert [found["checkpoint_id"] for found in facts] == [1, 2, 9]
    assert facts[0]["trigger_time"] == "2025-03-01T12:00:00.000Z"
    assert (facts[0]["is_savepoint"], facts[0]["outcome"], facts[0]["reason"]) == (
        True,
        "completed",
        None,
    )


def test_facts_can_be_narrowed_by_cluster_job_and_outcome() -> None:
    assert len(printed("--cluster", "other")) == 1
    assert len(printed("--job", "a" * 32)) == 2
    assert len(printed("--job", "orders")) == 2
    assert len(printed("--outcome", "declined")) == 1


def test_an_unknown_cluster_or_job_is_said() -> None:
    with pytest.raises(CommandError, match="no cluster nowhere"):
        printed("--cluster", "nowhere")
    with pytest.raises(CommandError, match="no job with the id or name nothing"):
        printed("--job", "nothing")


def test_a_cluster_without_checkpoints_prints_nothing() -> None:
    Cluster.objects.create(name="empty")
    assert printed("--cluster", "empty") == []
