"""The report of a job tells which keyed states live forever, and what threads of a vertex did that
a finding names; in either language.
"""

import gzip
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import translation

from ingest.flink_rest.flame_graphs import FlameGraphAnswer
from ingest.flink_rest.payloads.flame_graph import FlameGraph as Told
from ingest.flink_rest.payloads.flame_graph import FlameGraphState, flame_graph
from ingest.flink_rest.payloads.thread_dump import thread_dump
from ingest.flink_rest.thread_dumps import ThreadDumpAnswer
from ingest.sources import WantedFlameGraph
from tests.first_cycles import CLUSTER
from tests.flame_graphs import graphs, own_methods
from tests.played import of_rule
from tests.thread_dumps import dumps
from tests.webapp.analyses.storage.test_state_expiry import AT, EXPIRES, FIXTURES, completed
from tests.webapp.builders import T0, cluster, finding, job
from tests.webapp.placement.recorded import subtasks, taken_up
from tests.webapp.reports.stories import UID, gather, scope
from webapp.fleet.models import JobCurrent
from webapp.profiles.flame_graph_requests import keep as keep_graph
from webapp.profiles.flame_graph_requests import want as want_graph
from webapp.profiles.job_threads import JobThreads
from webapp.profiles.models import FlameGraph
from webapp.profiles.thread_dump_requests import keep, want
from webapp.reports.document import Table
from webapp.reports.gathering import analysis_tables, busy_vertices
from webapp.reports.renderers import markdown
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db
VERSIONS = ["1.20.5", "2.3.0"]
BUSY = "What busy vertices did"


TIME_TO_LIVE = "Time-to-live"


def tables_of(of: JobCurrent, **span: object) -> tuple[dict[str, Table], str, str]:
    """Of its report, and that in English and in Chinese."""
    document = gather(scope(of, **span), uid=UID, made_at=of.last_seen_at, made_by="olga")
    english = markdown.render(document).replace("\\", "")
    with translation.override("zh-hans"):
        chinese = markdown.render(document).replace("\\", "")
    return {one.title: one for one in document.stories[0].tables}, english, chinese


@pytest.mark.parametrize("version", VERSIONS)
def test_states_without_a_time_to_live_come_first(version: str, tmp_path: Path) -> None:
    (tmp_path / "chk-2").mkdir()
    (tmp_path / "chk-2" / "_metadata").write_bytes(
        gzip.decompress((FIXTURES / f"{version}_metadata.gz").read_bytes())
    )
    of = completed(2, tmp_path / "chk-2")
    span = {"start": AT - timedelta(hours=1), "end": AT + timedelta(hours=1)}
    assert TIME_TO_LIVE not in tables_of(of, **span)[0]
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    tables, english, chinese = tables_of(of, **span)
    table = tables[TIME_TO_LIVE]
    assert {row[2]: (row[3], row[4] == "yes") for row in table.rows} == EXPIRES
    assert [row[4] for row in table.rows] == ["no", "no", "yes", "yes", "yes"]
    assert table.note.startswith("2 of 5 keyed states have no time-to-live: ")
    assert table.note in english
    assert "5 个 keyed 状态中有 2 个没有 TTL：" in chinese


def test_of_very_many_states_those_that_live_forever_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chk-2").mkdir()
    (tmp_path / "chk-2" / "_metadata").write_bytes(
        gzip.decompress((FIXTURES / "2.3.0_metadata.gz").read_bytes())
    )
    of = completed(2, tmp_path / "chk-2")
    StorageRoot.objects.create(uri=f"file:{tmp_path}")
    monkeypatch.setattr(analysis_tables, "MOST_ROWS", 2)
    (table,) = (one for one in analysis_tables.tables(of, AT, AT, AT) if one.title == TIME_TO_LIVE)
    assert {row[2] for row in table.rows} == {"ever", "further-1"}
    assert "3 more are on the page Time-to-live." in table.note


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_vertex_did_that_is_slow_to_snapshot_is_told_by_its_dumps(
    version: str, home: Path
) -> None:
    recording = f"incidents/{version}/slow-sync"
    (of,) = taken_up(recording, home)
    cluster(CLUSTER, at=of.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    enrich = next(one["vertex_id"] for one in of.graph["vertices"] if one["name"] == "enrich")
    at = of.last_seen_at - timedelta(seconds=30)
    where = subtasks(recording, of.job_id)
    for body in (
        one for one in dumps(version, "slow-sync") if "snapshotState(Enrich" in json.dumps(one)
    ):
        want(CLUSTER, where[enrich][0], at)
        keep(CLUSTER, [ThreadDumpAnswer(where[enrich][0], at, thread_dump(body))])
    span = {"start": of.start_time, "end": of.last_seen_at + timedelta(minutes=1)}
    assert BUSY not in tables_of(of, **span)[0], "no finding names a vertex"
    played = of_rule(f"{version}/slow-sync", "checkpoint.sync")[-1]
    finding(of, "checkpoint.sync", at, data=played["data"], state="closed")
    tables, english, chinese = tables_of(of, **span)
    (row,) = tables[BUSY].rows
    assert (row[0], row[1], row[3]) == ("enrich", "thread dump", "0")
    assert "in lab.Enrich.snapshotState" in row[4] and row[4].endswith(", for a checkpoint")
    assert row[4] in english
    assert (
        "线程转储" in chinese
        and "繁忙的顶点在做什么" in chinese
        and "lab.Enrich.snapshotState" in chinese
    )


def graph_of(of: JobCurrent, vertex_id: str, told: Told) -> None:
    want_graph(of.cluster, of.job_id, vertex_id, T0)
    keep_graph(of.cluster, [FlameGraphAnswer(WantedFlameGraph(of.job_id, vertex_id), T0, 0, told)])


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_source_did_that_is_late_with_checkpoints_is_told_by_its_flame_graph(
    version: str,
) -> None:
    cluster(at=T0)
    of = job(at=T0)
    source, busy = (one["vertex_id"] for one in of.graph["vertices"][:2])
    body = graphs(version)[0]["body"]
    graph_of(of, source, flame_graph(body))
    FlameGraph.objects.update(sampled_at=T0)
    graph_of(of, busy, Told(FlameGraphState.OFF))
    assert BUSY not in tables_of(of)[0], "no finding names a vertex"
    finding(of, "checkpoint.start_delay", T0, data={"source": {"vertex_id": source, "subtask": 0}})
    finding(of, "pressure.root", T0, data={"vertex_id": busy, "hot_subtasks": [0]})
    tables, english, chinese = tables_of(of)
    late, off = sorted(tables[BUSY].rows, key=lambda row: row[2])
    [(method, samples)] = own_methods(body).most_common(1)
    assert late[:2] == (of.graph["vertices"][0]["name"], "flame graph") and late[3] == "0"
    assert (
        f"of {body['data']['value']} samples are in {method}" in late[4]
        and samples == body["data"]["value"]
    )
    assert off[4].startswith("Flame graphs are not switched on: rest.flamegraph.enabled: true")
    assert late[4] in english
    assert "火焰图未启用：" in chinese and method in chinese and "samples are in" not in chinese


def test_a_flame_graph_of_another_time_is_not_in_the_report() -> None:
    cluster(at=T0)
    of = job(at=T0)
    source = of.graph["vertices"][0]["vertex_id"]
    graph_of(of, source, flame_graph(graphs("2.3.0")[0]["body"]))
    finding(of, "checkpoint.start_delay", T0, data={"source": {"vertex_id": source, "subtask": 0}})
    FlameGraph.objects.update(sampled_at=T0 + timedelta(days=1))
    assert [*busy_vertices.tables(of, scope(of), JobThreads(None, ()))] == []
