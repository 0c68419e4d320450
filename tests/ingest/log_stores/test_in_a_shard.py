"""A store of logs beside a JobManager, or alone, in a collect cycle."""

from datetime import timedelta

import pytest

from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource, LogSource, LogStoreSource
from tests.ingest.flink_rest.serving import Reply, recorded
from tests.ingest.log_stores.stores import LokiAnswers
from tests.ingest.log_stores.test_pulled import BACKFILL_S, END, loki_lines
from tests.ingest.test_shard_collector import rows, serving


@pytest.fixture
def lake(tmp_path):
    return Lake(str(tmp_path / "lake"))


def source(tmp_path, store, jobmanager="", **more):
    spool = tmp_path / "spool"
    pulled = LogStoreSource(
        "loki", store, '{namespace="flink"}', spool=str(spool), backfill_s=BACKFILL_S
    )
    return ClusterSource(
        "lab", jobmanager, logs=LogSource((f"{spool}/*.log*",)), log_store=pulled, **more
    )


def test_what_a_store_answers_is_in_the_lake_after_the_same_cycle_and_once(tmp_path, lake):
    cursor = {}
    with serving(LokiAnswers(loki_lines())) as (store,):
        for cycle in range(4):
            at = END + timedelta(seconds=30 * cycle)
            (outcome,) = collect_shard(
                [source(tmp_path, store.url)], {"lab": cursor}, lake, at=lambda at=at: at
            )
            cursor = outcome.cursor
    assert (outcome.reachable, outcome.error, outcome.log_store.read_to) == (True, None, at)
    found = rows(lake, "log_records")
    assert len(found) > 50
    assert len({(row["process"], row["record_hash"], row["ordinal"]) for row in found}) == len(
        found
    )


def test_a_dead_store_stops_only_itself(tmp_path, lake):
    with serving(recorded("1.20.5/B")) as (jobmanager,):
        (outcome,) = collect_shard(
            [source(tmp_path, "http://127.0.0.1:9", jobmanager.url)], {}, lake, at=lambda: END
        )
    assert (outcome.reachable, outcome.error) == (True, None)
    assert "cannot be reached" in outcome.log_store.error
    assert rows(lake, "checkpoints")
    assert [row["source"] for row in rows(lake, "skips") if "127.0.0.1:9" in row["subject"]] == [
        "log_store"
    ]


def test_a_cluster_that_has_nothing_but_a_dead_store_cannot_be_seen(tmp_path, lake):
    with serving(lambda path, headers: Reply(b"no", 403)) as (store,):
        (outcome,) = collect_shard([source(tmp_path, store.url)], {}, lake, at=lambda: END)
    assert not outcome.reachable
    assert "Check sign-in and tenant" in outcome.error
