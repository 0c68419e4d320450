"""Why checkpoints of every shipped recording took long or were lost, through the real commands,
against an independent recount.

Outcomes, sizes and durations of all of them are compared where they are shown:
:mod:`tests.acceptance.test_shown`.
"""

from datetime import datetime

import pytest

from tests.acceptance.homes import IN_PIECES, NAMES, RECORDINGS, Instance, cluster_of
from tests.acceptance.recount import Key, recount


def milliseconds(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def by_key(facts: list[dict]) -> dict[Key, dict]:
    keyed = {
        (fact["job_id"], fact["checkpoint_id"], milliseconds(fact["trigger_time"])): fact
        for fact in facts
    }
    assert len(keyed) == len(facts), "a checkpoint is there more than once"
    return keyed


@pytest.mark.parametrize("name", NAMES)
def test_phases_are_the_largest_over_the_subtasks(instance: Instance, name: str) -> None:
    facts = by_key(instance.checkpoints(cluster_of(name)))
    checked = 0
    for key, known in recount(RECORDINGS / name).items():
        done = [
            subtask
            for subtasks in known.subtasks.values()
            for subtask in subtasks
            if subtask["status"] == "completed"
        ]
        if (
            not done
            or known.rest is None
            or known.rest["status"] != "COMPLETED"
            or len(done) != known.rest["num_subtasks"]
        ):
            continue
        fact = facts[key]
        assert fact["start_delay_ms"] == max(subtask["start_delay"] for subtask in done), key
        assert fact["alignment_ms"] == max(subtask["alignment"]["duration"] for subtask in done), (
            key
        )
        assert fact["sync_ms"] == max(subtask["checkpoint"]["sync"] for subtask in done), key
        assert fact["async_ms"] == max(subtask["checkpoint"]["async"] for subtask in done), key
        assert fact["slowest_end_to_end_ms"] == max(
            subtask["end_to_end_duration"] for subtask in done
        ), key
        checked += 1
    assert checked


def test_each_decline_says_which_subtask_where_and_why(instance: Instance) -> None:
    expected = {
        key: known for key, known in recount(RECORDINGS / "1.20.5/E").items() if known.declines
    }
    assert len(expected) == 7
    facts = by_key(instance.checkpoints("1.20.5-E"))
    for key, known in expected.items():
        (said,) = known.declines
        (decline,) = facts[key]["declines"]
        assert decline["execution_id"] == said["execution"]
        _graph, vertex, subtask, attempt = said["execution"].split("_")
        assert (decline["vertex_id"], decline["subtask"], decline["attempt"]) == (
            vertex,
            int(subtask),
            int(attempt),
        )
        assert decline["vertex_name"] == "enrich"
        assert (decline["container"], decline["host"]) == (said["container"], said["host"])
        assert decline["reason"] == "CHECKPOINT_ASYNC_EXCEPTION"
        assert "could not flush to checkpoint storage" in decline["exception"]
        assert decline["log_line"].startswith(f"Decline checkpoint {key[1]} by task")


def test_each_expiry_says_who_had_not_acknowledged_and_has_its_late_messages(
    instance: Instance,
) -> None:
    expected = {
        key: known for key, known in recount(RECORDINGS / "1.20.5/F").items() if known.expired
    }
    assert len(expected) == 9
    facts = by_key(instance.checkpoints("1.20.5-F"))
    late = 0
    for key, known in expected.items():
        fact = facts[key]
        assert fact["reason"] == "CHECKPOINT_EXPIRED"
        silent = fact["not_acknowledged"]
        assert all(entry["hosts"] and entry["count"] == len(entry["subtasks"]) for entry in silent)
        assert (
            sum(entry["count"] for entry in silent)
            == known.rest["num_subtasks"] - known.rest["num_acknowledged_subtasks"]
        )
        assert "slow-enrich" in {entry["vertex_name"] for entry in silent}
        assert fact["late_message_count"] == len(fact["late_messages"] or ()) == len(known.late)
        assert all(
            message["late_ms"] > 0 and message["host"] and message["vertex_name"]
            for message in fact["late_messages"] or ()
        )
        late += len(known.late)
    assert late == 8


def comparable(facts: list[dict]) -> list[dict]:
    return sorted(
        facts,
        key=lambda fact: (
            fact["cluster"],
            fact["job_id"],
            fact["checkpoint_id"],
            fact["trigger_time"],
        ),
    )


@pytest.mark.long
@pytest.mark.parametrize("name", IN_PIECES)
def test_a_recording_in_pieces_out_of_order_and_again_leaves_the_same_rows(
    instance: Instance, out_of_order: Instance, name: str
) -> None:
    assert comparable(out_of_order.checkpoints(cluster_of(name))) == comparable(
        instance.checkpoints(cluster_of(name))
    )
