"""A JobManager that is slow to answer delays nobody else: not their rows, not their next round."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome
from ingest.shard_reading import STALL_CHECK_S, ShardReading, Stall
from tests.ingest.flink_rest.serving import Answer, Reply, recorded
from tests.ingest.test_shard_collector import serving
from webapp.fleet.models import Cluster
from webapp.pipeline import collecting
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db(transaction=True)
SLOW = "slow"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "SLOW_S", 2.0)


def held(gate: threading.Event) -> Answer:
    """Answers once the gate is open, and waits for it without an end."""
    base = recorded("1.20.5/B")
    return lambda path, headers: base(path, headers) if gate.is_set() else Reply(hang=True)


@contextmanager
def fleet(*answers: Answer) -> Iterator[None]:
    """Clusters, all of one shard, whose first is called ``slow``."""
    with serving(*answers) as servers:
        for number, server in enumerate(servers):
            Cluster.objects.create(name=f"quick-{number}" if number else SLOW, url=server.url)
        yield


def collect(key: str = "collect/0") -> float:
    """Seconds that it took."""
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    began = time.monotonic()
    assert perform(key, even_if_not_due=True).state == Performed.DONE
    return time.monotonic() - began


def seen() -> set[str]:
    return set(Cluster.objects.filter(last_success_at__isnull=False).values_list("name", flat=True))


def wait_for(condition: Callable[[], object], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)
    return bool(condition())


def test_what_quick_clusters_tell_is_in_the_lake_while_a_slow_one_is_still_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "SLOW_S", 15.0)
    monkeypatch.setattr("ingest.shard_reading.GROUP_S", 0.5)
    with fleet(held(threading.Event()), *[recorded("1.20.5/B")] * 2):
        running = threading.Thread(target=collect)
        running.start()
        try:
            assert wait_for(lambda: seen() == {"quick-1", "quick-2"}, within_s=9)
            assert running.is_alive()
            assert Lake(str(home / "lake")).version("jobs") > 0
        finally:
            running.join()


def test_who_is_slow_is_read_by_itself_and_its_shard_waits_no_more(home: Path) -> None:
    gate = threading.Event()
    with fleet(held(gate), *[recorded("1.20.5/B")] * 2):
        assert collect() < 9, "the time-out of a request is waited for"
        slow = Cluster.objects.get(name=SLOW)
        assert slow.slow_since and not slow.last_collected_at
        assert DueWork.objects.due(timezone.now()).filter(key="collect/slow").exists()
        began = timezone.now()
        collect()
        assert set(
            Cluster.objects.filter(last_success_at__gte=began).values_list("name", flat=True)
        ) == {"quick-1", "quick-2"}
        gate.set()
        collect("collect/slow")
        slow.refresh_from_db()
        assert (
            slow.last_success_at
            and slow.slow_since is None
            and "collect/slow" not in registry.intervals_s()
        )


def test_logs_that_are_not_handed_out_delay_nobody_else(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount or a bucket that hangs, for minutes and hours."""
    monkeypatch.setattr("ingest.shard_collector.FILES_S", 3.0)
    monkeypatch.setattr("ingest.shard_collector.FILES_OF_SHARD_S", 0.5)
    with fleet(*[recorded("1.20.5/B")] * 3), serving(held(threading.Event())) as (store,):
        Cluster.objects.filter(name=SLOW).update(log_globs=[f"{store.url}/taskmanager.log"])
        assert collect() < 9
        assert seen() == {SLOW, "quick-1", "quick-2"}
        slow = Cluster.objects.get(name=SLOW)
        assert slow.slow_since and "taskmanager.log" not in slow.cursor
        assert "were not read within" in (slow.last_error or "")
        for _ in range(2):
            collect("collect/slow")
            again = Cluster.objects.get(name=SLOW)
            assert again.last_success_at > slow.last_success_at and again.slow_since
            slow = again


def test_who_does_not_answer_fails_in_its_own_lane(home: Path) -> None:
    Cluster.objects.create(name=SLOW, url="http://127.0.0.1:9", slow_since=timezone.now())
    collect("collect/slow")
    assert Cluster.objects.get().consecutive_failures == 1


def test_those_asked_longest_ago_come_first_in_the_lane_of_slow_ones(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MAX_SHARD_SIZE", 1)
    now = timezone.now()
    for number in range(3):
        at = now - timedelta(minutes=number)
        Cluster.objects.create(
            name=f"c{number}", url="http://127.0.0.1:9", slow_since=now, last_collected_at=at
        )
    collect("collect/slow")
    assert Cluster.objects.get(consecutive_failures=1).name == "c2"


def test_a_cluster_alone_in_its_shard_takes_what_time_it_takes(home: Path) -> None:
    base = recorded("1.20.5/B")

    def late(path: str, headers: dict[str, str]) -> Reply:
        reply = base(path, headers)
        return Reply(
            reply.body, reply.status, reply.headers, pause_s=3 if path == "/overview" else 0
        )

    with fleet(late):
        collect()
        assert seen() == {SLOW}


def test_rows_are_there_once_though_clusters_are_committed_one_by_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.shard_reading.GROUP_S", 0.0)
    with fleet(*[recorded("1.20.5/B")] * 4):
        collect()
    counts = PipelineRun.objects.latest("id").counts
    assert counts["clusters"] == 4 and len(seen()) == 4
    rows = Lake(str(home / "lake")).files("jobs")
    assert (
        len({file.uri for file in rows}) == len(rows)
        and sum(file.rows for file in rows) == counts["jobs"]
    )


def test_a_failure_of_a_process_that_did_not_get_to_run_counts_against_no_cluster() -> None:
    DueWork.objects.ensure({"collect/0": 8}, timezone.now())
    lease = DueWork.objects.claim("collect/0", timezone.now())
    assert lease
    row = Cluster.objects.create(name="c", url="http://127.0.0.1:9")
    for stalled_s, failures in ((collecting.MOST_STALL_S, 0), (0.0, 1)):
        outcome = ClusterOutcome(
            "c", False, "It did not answer within 10 s.", {}, took_s=10, stalled_s=stalled_s
        )
        collecting.save_outcomes([outcome], {"c": row}, timezone.now(), lease)
        assert Cluster.objects.get().consecutive_failures == failures


@pytest.mark.parametrize(
    ("times", "each_s", "after_s"), [(1, 1.5, 0.3), (1, 1.5, 0.0), (3, 0.8, 0.3)]
)
def test_a_loop_that_does_not_get_to_run_is_noticed_at_once_and_however_often_that_is(
    times: int, each_s: float, after_s: float
) -> None:
    stalls = []

    async def read(_run: str, stall: Stall) -> None:
        began = time.monotonic()
        for _ in range(times):
            await asyncio.sleep(0.3)
            time.sleep(each_s)  # noqa: ASYNC251 -- as a machine does that gives the process no time
        if after_s:
            await asyncio.sleep(after_s)
        stalls.append(stall.total_s_since(began))

    with ShardReading(["c"], read) as reading:
        assert list(reading.groups()) == [["c"]]
    assert times * (each_s - STALL_CHECK_S) - 0.1 < stalls[0] < times * each_s + 1


def test_what_was_before_a_reading_is_no_stall_of_it() -> None:
    stall = Stall()
    time.sleep(2 * STALL_CHECK_S + 0.2)
    assert stall.total_s_since(time.monotonic() - 1) > STALL_CHECK_S
    assert stall.total_s_since(time.monotonic()) < 0.1


def test_nobody_is_left_as_slow_for_the_time_in_which_the_process_did_not_get_to_run() -> None:
    async def read(run: int, _stall: Stall) -> None:
        await asyncio.sleep(0.1)
        if run == 2:
            await asyncio.sleep(0.2)
            time.sleep(3)  # noqa: ASYNC251 -- as above
            await asyncio.sleep(0.2)

    with ShardReading([0, 1, 2], read, stragglers_after_s=2.0) as reading:
        assert sorted(run for group in reading.groups() for run in group) == [0, 1, 2]
