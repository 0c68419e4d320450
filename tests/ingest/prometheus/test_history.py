"""Debian's Prometheus that holds days of what a real Flink reported, and a Weir that joins
afterwards.

The samples are those that it scraped of the Flink, laid down again at other times by its own tool;
figures are recounted from its answers.
"""

import json
import urllib.parse
import urllib.request
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from ingest.lake.store import Lake
from ingest.prometheus import history
from ingest.prometheus.history import HistoryBudget
from ingest.prometheus.names import HISTORY
from ingest.records import Job, Observed, Vertex, VertexMetrics
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource, PrometheusSource
from tests.ingest.prometheus.openmetrics import as_openmetrics
from tests.ingest.prometheus.test_recorded import STEP_S, lines
from tests.ingest.test_shard_collector import rows
from tests.lab.prometheus import EXECUTABLE, Server
from tests.spark_jobs.instances import SmallInstance

VERSION = "1.20.5"
ANSWERS = lines(VERSION, "prometheus")
END_S = max(
    at for one in ANSWERS for series in one["body"]["data"]["result"] for at, _ in series["values"]
)
SHIFTS_S = (*(-300 * step for step in range(24)), *(-36 * 3600 - 300 * step for step in range(6)))
"""Of its 40 seconds every five minutes: two hours until now, and half an hour the day before
yesterday.
"""
BUSY = "flink_taskmanager_job_task_busyTimeMsPerSecond"
AT = datetime.fromtimestamp(END_S + STEP_S + 1, UTC)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if EXECUTABLE is None:
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    found = Server(tmp_path_factory.mktemp("prometheus"))
    found.hold(as_openmetrics(ANSWERS, SHIFTS_S))
    with found:
        yield found


class Weir:
    """A cluster that has nothing but the Prometheus, collected at every step."""

    def __init__(self, server, folder, days=2):
        self.source = ClusterSource(
            "lab",
            prometheus=PrometheusSource(server.url, 'cluster="lab"', history_days=days),
            metrics_interval_s=STEP_S,
        )
        self.lake, self.cursor, self.outcomes = Lake(str(folder / "lake")), {}, []

    def cycle(self):
        at = AT + len(self.outcomes) * timedelta(seconds=STEP_S)
        (outcome,) = collect_shard([self.source], {"lab": self.cursor}, self.lake, at=lambda: at)
        self.cursor = json.loads(json.dumps(outcome.cursor))
        self.outcomes.append(outcome)
        return outcome

    def until_done(self):
        while not (self.outcomes and self.outcomes[-1].metrics_history.is_done):
            self.cycle()
            assert len(self.outcomes) < 50
        return self

    def samples(self):
        return [row for row in rows(self.lake, "vertex_metrics") if row["source"] == HISTORY]


@pytest.fixture(scope="module")
def joined(server, tmp_path_factory):
    return Weir(server, tmp_path_factory.mktemp("joined")).until_done()


def busy(samples):
    return {
        (row["vertex_id"], subtask, row["ts"].timestamp()): value
        for row in samples
        for subtask, value in enumerate(row["busy_ms_per_s"] or ())
        if value is not None
    }


def held(server, begun_s, days):
    """What the server answers, instant for instant."""
    found = {}
    for at in range(begun_s - days * 86_400, begun_s, 300):
        asked = urllib.parse.urlencode({"query": f'{BUSY}{{cluster="lab"}}', "time": at})
        with urllib.request.urlopen(f"{server.url}/api/v1/query?{asked}", timeout=10) as answer:
            for one in json.load(answer)["data"]["result"]:
                found[one["metric"]["task_id"], int(one["metric"]["subtask_index"]), at] = float(
                    one["value"][1]
                )
    return found


def test_every_sample_that_it_holds_at_a_step_is_read(server, joined):
    expected = held(server, joined.cursor[HISTORY]["begun_s"], 2)
    assert busy(joined.samples()) == expected
    assert len({at for *_, at in expected}) >= len(SHIFTS_S) - 2


def test_no_more_of_it_is_read_than_is_wanted(server, tmp_path):
    short = Weir(server, tmp_path, days=1).until_done()
    assert busy(short.samples()) == held(server, short.cursor[HISTORY]["begun_s"], 1)
    assert Weir(server, tmp_path / "none", days=0).cycle().metrics_history is None


def test_the_newest_comes_first_and_a_cycle_that_is_lost_costs_nothing(
    server, joined, tmp_path, monkeypatch
):
    monkeypatch.setattr(history, "MOST_REQUESTS", 3)
    monkeypatch.setattr("ingest.prometheus.reading.HistoryBudget", partial(HistoryBudget, rows=1))
    bounded = Weir(server, tmp_path)
    read_back = []
    for _ in range(4):
        bounded.cycle()
        read_back.append(bounded.outcomes[-1].metrics_history.before_s)
    assert read_back == sorted(read_back, reverse=True)
    assert len(set(read_back)) == 4
    saved = dict(bounded.cursor)
    bounded.cycle()
    bounded.cursor = saved  # as where Weir was killed before it was saved
    bounded.until_done()
    assert busy(bounded.samples()) == busy(joined.samples())


def test_a_prometheus_that_was_read_before_is_not_read_back(server, tmp_path):
    known = Weir(server, tmp_path)
    known.cursor = {"prometheus": {"until_s": int(END_S) - 60}}
    known.cycle()
    assert known.samples() == []


def test_one_that_does_not_answer_is_asked_again_where_it_was_left(joined, tmp_path):
    gone = Weir(type("Gone", (), {"url": "http://127.0.0.1:9"}), tmp_path)
    gone.source = replace(gone.source, request_timeout_s=1)
    gone.cursor = joined.outcomes[0].cursor
    before = dict(gone.cursor)
    gone.cycle()
    assert gone.cursor == before


def test_charts_have_it_and_nothing_is_judged_by_it(joined, tmp_path):
    """Also where it comes after what is newer was judged."""
    instance = SmallInstance(None, tmp_path)
    present, past = (
        [row for row in rows(joined.lake, "vertex_metrics") if (row["source"] == HISTORY) is wanted]
        for wanted in (False, True)
    )
    instance.lake.append([*again(present), *jobs_again(joined.lake)])
    instance.cycle()
    instance.lake.append(again(past))
    instance.cycle()
    windows = {
        (row["vertex_id"], row["window_start"].timestamp()): row["busy_ms_per_s_max"]
        for row in instance.rows("pressure_window").values()
    }
    seen = {(vertex, at // 60 * 60) for vertex, _, at in busy(present)}
    shown = {key: value for key, value in windows.items() if key not in seen}
    expected = {}
    for (vertex, _, at), value in busy(past).items():
        expected[vertex, at] = max(value, expected.get((vertex, at), 0))
    assert {key: value for key, value in shown.items() if value is not None} == expected
    for table in ("finding_occurrence", "job_judgement", "job_current"):
        assert instance.rows(table, 2) == instance.rows(table, 1)
    assert instance.rows("job_judgement", 1)


def again(samples):
    """Rows of the lake as they were observed."""
    return [
        Observed("lab", row["observed_at"], row["source"], (made(VertexMetrics, row),))
        for row in samples
    ]


def jobs_again(lake):
    found = rows(lake, "jobs")
    plans = [tuple(Vertex(**one) for one in row["vertices"]) for row in found]
    return [
        Observed("lab", row["observed_at"], row["source"], (made(Job, row, vertices=plan),))
        for row, plan in zip(found, plans, strict=True)
    ]


def made(record, row, **known):
    values = {field.name: row[field.name] for field in fields(record)}
    return record(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in (values | known).items()
        }
    )
