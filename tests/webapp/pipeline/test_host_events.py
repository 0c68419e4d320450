"""What happened on hosts with a checkpoint, as more and more becomes known of it: against one run
over all.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ingest.records import Observed
from tests.spark_jobs.instances import SmallInstance
from tests.spark_jobs.test_verdicts_as_it_happened import as_it_happened, observed
from tests.webapp.pipeline.runs import AT, fact, row
from tests.webapp.pipeline.test_host_days import recounted, stored
from webapp.hosts.models import HostEvent

Load = Callable[..., dict[str, int]]
TABLES = ("checkpoint_fact", "host_event")


def loaded(
    load: Load, instance: SmallInstance, steps: Sequence[Sequence[Observed]]
) -> set[tuple[Any, ...]]:
    HostEvent.objects.all().delete()
    for step in steps:
        instance.lake.append(step)
        instance.cycle()
        alone = SmallInstance(None, instance.root, instance.manifests[-1:])
        load({table: list(alone.rows(table).values()) for table in TABLES})
    return set(
        HostEvent.objects.values_list(
            "job_id", "host", "at", "kind", "subject", "checkpoint_id", "vertex_name"
        )
    )


@pytest.mark.parametrize("recording", ["recordings/1.20.5/F", "incidents/2.3.0/expired"])
def test_an_expired_checkpoint_stands_once_though_the_log_and_rest_date_its_end_differently(
    load: Load, tmp_path: Path, recording: str
) -> None:
    recorded = observed(recording)
    whole = loaded(load, SmallInstance(None, tmp_path / "whole"), [recorded])
    assert sum(kind == "expired" for _job, _host, _at, kind, *_more in whole) >= 3
    assert loaded(load, SmallInstance(None, tmp_path / "steps"), as_it_happened(recorded)) == whole
    assert stored() == recounted()


def test_what_an_event_was_told_of_is_taken_back_where_its_fact_tells_it_no_more(
    load: Load,
) -> None:
    silent = {
        "host": "h",
        "kind": "expired",
        "job_id": "a" * 32,
        "cluster": "c",
        "at": AT,
        "trigger_time": AT,
    }
    events = [
        row("host_event", subject=f"checkpoint {n}", checkpoint_id=n, **silent) for n in (1, 2)
    ]
    expired = [fact(n, outcome="expired") for n in (1, 2)]
    load({"checkpoint_fact": expired, "host_event": events})
    load({"checkpoint_fact": expired[:1], "host_event": []})
    assert list(HostEvent.objects.values_list("checkpoint_id", flat=True)) == [2]
    assert stored() == recounted()


def test_the_same_run_again_changes_nothing(load: Load) -> None:
    event = row(
        "host_event",
        host="h",
        kind="decline",
        job_id="a" * 32,
        cluster="c",
        subject="s",
        checkpoint_id=1,
        trigger_time=AT,
        at=AT,
    )
    rows = {"checkpoint_fact": [fact(1, outcome="declined")], "host_event": [event]}
    load(rows)
    before = list(HostEvent.objects.values_list())
    load(rows)
    assert list(HostEvent.objects.values_list()) == before
