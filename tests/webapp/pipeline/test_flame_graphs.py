"""A collect cycle asks for the flame graphs that are wanted, and keeps what came of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from tests.flame_graphs import graphs, own_methods
from tests.ingest.flink_rest.serving import recorded, told
from tests.ingest.test_shard_collector import serving
from tests.webapp.builders import finding, job
from tests.weir_settings import WeirSettings
from webapp.fleet.models import Cluster
from webapp.profiles.flame_graph_requests import want
from webapp.profiles.models import FlameGraph
from webapp.work import registry
from webapp.work.models import DueWork
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db(transaction=True)
JOB, SOURCE = "a" * 32, "b" * 32


@pytest.fixture
def asked(home: Path) -> Iterator[list[str]]:
    """Paths that a JobManager whose flame graphs are switched on was asked for."""
    rest = recorded("1.20.5/B", flamegraph=told(graphs("1.20.5")[1]["body"]))
    with serving(rest) as [server]:
        Cluster.objects.create(name="c", url=server.url)
        yield server.asked


def collect() -> None:
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    assert perform("collect/0", even_if_not_due=True).state == Performed.DONE


def late_source() -> None:
    of = job("c", at=timezone.now(), job_id=JOB)
    finding(
        of,
        "checkpoint.start_delay",
        timezone.now(),
        data={"source": {"vertex_id": SOURCE, "name": "Source", "subtask": 0}},
    )


def flame_graphs_of(asked: list[str]) -> list[str]:
    return [path for path in asked if "flamegraph" in path]


def test_what_somebody_wants_is_asked_for_once_and_kept(asked: list[str]) -> None:
    want("c", JOB, SOURCE, timezone.now(), "olga", subtask=0)
    collect()
    collect()
    assert flame_graphs_of(asked) == [
        f"/jobs/{JOB}/vertices/{SOURCE}/flamegraph?type=full&subtaskindex=0"
    ]
    row = FlameGraph.objects.get()
    [(method, samples)] = own_methods(graphs("1.20.5")[1]["body"]).most_common(1)
    assert (row.state, row.method, row.method_samples, row.subtask) == (
        "sampled",
        method,
        samples,
        0,
    )


def test_findings_ask_for_none_by_themselves(asked: list[str]) -> None:
    late_source()
    collect()
    assert flame_graphs_of(asked) == []


def test_findings_of_late_sources_ask_for_one_where_that_is_switched_on(
    asked: list[str], weir: WeirSettings
) -> None:
    weir(flame_graphs=True)
    late_source()
    collect()
    assert len(flame_graphs_of(asked)) == 1
    assert FlameGraph.objects.get().wanted_by == ""
