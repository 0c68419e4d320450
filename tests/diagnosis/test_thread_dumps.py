"""What thread dumps of real Flinks say of a slow synchronous part, of a busy vertex and of idle
tasks; and deadlocks.
"""

import pytest

from spark_jobs.diagnosis.thread_dumps import (
    DumpedThread,
    deadlock_sentence,
    deadlocks,
    doing,
    in_a_row,
    in_checkpoint,
    place_of,
    sentence,
    task_of,
)
from tests.thread_dumps import VERSIONS, dumps, threads


def task(version, incident, name, subtask, nth=0):
    """The thread of one task, in the ``nth`` of its TaskManager's dumps."""
    found = [
        one
        for body in dumps(version, incident)
        for one in threads(body)
        if (of := task_of(one.name)) and (of.task, of.subtask) == (name, subtask)
    ]
    return found[nth]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_task_that_sleeps_in_its_snapshot_is_told_with_the_method(version):
    """The incident sleeps four seconds in ``snapshotState`` of the first subtask alone."""
    assert (
        sentence(task(version, "slow-sync", "enrich", 0))
        == "waits in lab.Enrich.snapshotState, calling java.lang.Thread.sleep, for a checkpoint"
    )
    assert sentence(task(version, "slow-sync", "enrich", 1)) == "waits for work"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_task_that_computes_runs_in_its_own_code_or_in_the_state_that_it_reads(version):
    for subtask in (0, 1):
        for nth in (0, 1):
            one = task(version, "computing", "enrich", subtask, nth)
            assert doing(one) in ("runs", "is in RocksDB")
            assert " in lab." in sentence(one)
            assert not in_checkpoint(one)
    assert sentence(task(version, "computing", "sink", 0)) == "waits for work"


@pytest.mark.parametrize("version", VERSIONS)
def test_tasks_are_known_by_the_names_of_the_plan_and_threads_that_serve_them_are_none(version):
    names = {
        task_of(one.name).task
        for body in dumps(version, "slow-sync")
        for one in threads(body)
        if task_of(one.name)
    }
    assert names == {"Source: Sequence Source -> throttle", "parse", "enrich", "sink"}


def blocked(name, number, by):
    return DumpedThread(name, number, "BLOCKED", f"a.Lock@{by}", f"t{by}", by, ("a.B.c:1",))


def test_threads_that_wait_for_each_other_are_a_deadlock_and_those_behind_them_are_not():
    circle = [blocked("t1", 1, 2), blocked("t2", 2, 3), blocked("t3", 3, 1)]
    behind = [
        blocked("t4", 4, 1),
        blocked("t5", 5, 6),
        DumpedThread("t6", 6, "RUNNABLE"),
        blocked("t7", 7, 99),
        blocked("t8", 8, 8),
    ]
    found = deadlocks([behind[0], *circle, *behind[1:]])
    assert [{one.name for one in threads} for threads in found] == [{"t1", "t2", "t3"}]
    assert deadlock_sentence(found[0]).startswith("Deadlock: ")
    assert deadlocks(behind) == []


def test_a_thread_at_the_same_place_is_counted_over_dumps_whatever_its_line():
    first = DumpedThread("t", 1, "RUNNABLE", frames=("a.B.c:1",))
    second = DumpedThread("t", 1, "RUNNABLE", frames=("java.x.Y:1", "a.B.c:9"))
    assert in_a_row(first, {}) == 1
    assert in_a_row(second, {"t": (place_of(first), 2)}) == 3
    assert (
        in_a_row(DumpedThread("t", 1, "RUNNABLE", frames=("a.B.d:1",)), {"t": (place_of(first), 2)})
        == 1
    )


def test_a_blocked_thread_is_told_with_the_lock_and_its_holder():
    assert sentence(blocked("t1", 1, 2)) == "is blocked in a.B.c by a.Lock@2, held by t2"
