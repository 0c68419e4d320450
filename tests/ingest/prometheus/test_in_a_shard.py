"""A Prometheus beside a JobManager, or alone, in a collect cycle."""

import re
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from ingest.flink_rest.limits import RequestLimits
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import Auth, ClusterSource, PrometheusSource
from tests.ingest.flink_rest.serving import Reply, recorded, told
from tests.ingest.prometheus.test_recorded import KEY_CHARS, STEP_S, lines
from tests.ingest.test_shard_collector import rows, serving

VERSION = "1.20.5"
FIRST = parse_qs(urlsplit(lines(VERSION, "prometheus")[0]["path"]).query)
AT = datetime.fromtimestamp(int(FIRST["end"][0]) + STEP_S + 1, UTC)
CURSOR = {"lab": {"prometheus": {"until_s": int(FIRST["start"][0]) - STEP_S}}}


def prometheus(path, _headers):
    answers = {
        parse_qs(urlsplit(one["path"]).query)["query"][0][:KEY_CHARS]: one["body"]
        for one in lines(VERSION, "prometheus")
    }
    query = parse_qs(urlsplit(path).query)["query"][0]
    return told(
        answers.get(
            query[:KEY_CHARS], {"status": "success", "data": {"resultType": "matrix", "result": []}}
        )
    )


@pytest.fixture
def lake(tmp_path):
    return Lake(str(tmp_path / "lake"))


def collect(lake, jobmanager="", metrics="", **more):
    source = ClusterSource(
        "lab",
        jobmanager,
        prometheus=PrometheusSource(metrics, 'cluster="lab"') if metrics else None,
        metrics_interval_s=STEP_S,
        **more,
    )
    (outcome,) = collect_shard(
        [source], CURSOR, lake, at=lambda: AT, limits=RequestLimits(cycle_timeout_s=20)
    )
    return outcome


def is_costly(path):
    return "/vertices/" in path and ("metrics" in path or "/backpressure" in path)


def test_beside_it_a_jobmanager_is_not_asked_for_metrics_of_tasks(lake):
    with serving(recorded("1.20.5/B"), recorded("1.20.5/B"), prometheus) as (
        asked_alone,
        relieved,
        metrics,
    ):
        collect(Lake(f"{lake.root}-alone"), asked_alone.url)
        outcome = collect(lake, relieved.url, metrics.url)
        costly = [
            [path for path in server.asked if is_costly(path)] for server in (asked_alone, relieved)
        ]
    assert outcome.error is None
    assert len(costly[0]) > 3
    assert costly[1] == []
    assert any(row["busy_ms_per_s"] for row in rows(lake, "vertex_metrics"))


def test_the_cluster_s_own_secret_is_not_sent_to_it(lake):
    with serving(recorded("1.20.5/B"), prometheus) as (jobmanager, metrics):
        collect(lake, jobmanager.url, metrics.url, auth=Auth("bearer", "secret-of-flink"))
        assert any("secret-of-flink" in str(headers) for headers in jobmanager.headers)
        assert not any("secret-of-flink" in str(headers) for headers in metrics.headers)


def test_alone_it_tells_jobs_samples_and_taskmanagers(lake):
    with serving(prometheus) as (metrics,):
        outcome = collect(lake, metrics=metrics.url)
    assert (outcome.reachable, outcome.jobs_seen, outcome.error) == (True, 1, None)
    assert {row["state"] for row in rows(lake, "jobs")} == {"RUNNING"}
    assert len(rows(lake, "vertex_metrics")) > 20
    assert len({row["taskmanager_id"] for row in rows(lake, "taskmanagers")}) == 2


MOST_BYTES = 3_000_000


def spoiled(damage):
    def answer(path, headers):
        body = prometheus(path, headers).body
        return Reply(
            {
                "cut": body[: len(body) // 2],
                "huge": body + b" " * MOST_BYTES,
                "deep": body.replace(
                    b'"result"', b'"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "result"', 1
                ),
                "no UTF-8": body.replace(b'"metric"', b'"\xff\xfe": 1, "metric"'),
                "a wrong clock": re.sub(rb"\[1[0-9]{9}(?:\.[0-9]+)?,", b"[99999999999,", body),
            }[damage]
        )

    return answer


@pytest.mark.parametrize("damage", ["cut", "huge", "deep", "no UTF-8", "a wrong clock"])
def test_damaged_answers_cost_its_cluster_metrics_at_most_and_are_read_again_once_they_are_whole(
    lake, damage
):
    with (
        serving(recorded("1.20.5/B"), spoiled(damage)) as (jobmanager, metrics),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("ingest.flink_rest.client.MAX_RESPONSE_BYTES", MOST_BYTES)
        outcome = collect(lake, jobmanager.url, metrics.url)
    assert outcome.reachable and rows(lake, "checkpoints")
    if damage in ("cut", "huge", "deep"):
        assert outcome.error and outcome.cursor["prometheus"] == CURSOR["lab"]["prometheus"]
    assert any(measured(lake)) == (damage == "no UTF-8")
    with serving(recorded("1.20.5/B"), prometheus) as (jobmanager, metrics):
        assert collect(lake, jobmanager.url, metrics.url).error is None
    assert any(measured(lake))


def measured(lake):
    """What the JobManager beside it is not asked for."""
    return [row["busy_ms_per_s"] for row in rows(lake, "vertex_metrics")]


def test_a_dead_one_costs_its_cluster_the_metrics_and_nothing_else(lake):
    with serving(recorded("1.20.5/B")) as (jobmanager,):
        outcome = collect(lake, jobmanager.url, "http://127.0.0.1:9", request_timeout_s=1)
    assert outcome.reachable
    assert outcome.error
    assert outcome.cursor["prometheus"] == CURSOR["lab"]["prometheus"]
    assert rows(lake, "checkpoints")
