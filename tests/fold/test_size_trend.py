from collections.abc import Iterable
from typing import Any

import pytest

from spark_jobs.fold.older_facts import OlderFacts
from spark_jobs.fold.size_trend import MAX_POINTS, size_trend
from spark_jobs.fold.triggers import key_of
from tests.fold.rows import Row, facts, noon, serving

MB = 1_000_000


def sized(sizes: Iterable[int], every_s: float = 3_600) -> list[dict[str, Any]]:
    return [
        {
            "checkpoint_id": n,
            "trigger_time": noon(every_s * n),
            "state_bytes": size,
            "checkpointed_bytes": 1,
        }
        for n, size in enumerate(sizes, start=1)
    ]


def trend(fact_rows: Iterable[Row], annotation_rows: Iterable[Row] = ()) -> dict[str, Any]:
    """Of facts that are there once each, as a run has them."""
    once = {key_of(fact): fact for fact in facts(fact_rows)}
    found = size_trend(once.values(), serving("job_annotation", annotation_rows), OlderFacts())
    assert found is not None
    return found


def test_a_straight_line_gives_its_slope() -> None:
    row = trend(sized([100 * MB + n * MB for n in range(1, 13)]))
    assert row["bytes_per_h"] == pytest.approx(MB)
    assert (row["points"], row["from_time"], row["to_time"]) == (12, noon(3_600), noon(12 * 3_600))


def test_one_wild_point_does_not_bend_it() -> None:
    sizes = [100 * MB + n * MB for n in range(1, 13)]
    sizes[6] = 9_000 * MB
    assert trend(sized(sizes))["bytes_per_h"] == pytest.approx(MB, rel=0.05)


def test_a_saw_of_compactions_has_no_steps_and_a_bound_below_its_slope() -> None:
    row = trend(sized([50 * MB + (n % 6) * 10 * MB for n in range(48)]))
    assert abs(row["bytes_per_h"]) < 2 * MB
    assert row["bytes_per_h_low"] < row["bytes_per_h"]


def test_four_points_are_too_few_for_a_slope() -> None:
    row = trend(sized([1, 2, 3, 4]))
    assert (row["points"], row["bytes_per_h"]) == (4, None)


def test_less_than_an_hour_gives_no_rate() -> None:
    sizes = [100 * MB + n * MB for n in range(1, 62)]
    row = trend(sized(sizes[:60], every_s=60))
    assert (row["points"], row["from_time"], row["to_time"]) == (60, noon(60), noon(3_600))
    assert (row["bytes_per_h"], row["bytes_per_h_low"]) == (None, None)
    assert trend(sized(sizes, every_s=60))["bytes_per_h"] == pytest.approx(60 * MB)


def test_sizes_of_which_only_one_is_reported_have_no_trend() -> None:
    row = trend(
        [fact | {"checkpointed_bytes": None} for fact in sized([80 * MB, 1, 1, 1, 80 * MB, 1, 1])]
    )
    assert (row["points"], row["bytes_per_h"], row["from_time"]) == (0, None, None)


def test_it_starts_again_after_a_step() -> None:
    row = trend(sized([10 * MB + n for n in range(10)] + [90 * MB + n for n in range(10)]))
    assert (row["points"], row["bytes_per_h"]) == (10, pytest.approx(1))


def test_it_starts_anew_after_a_restart_but_not_after_a_savepoint() -> None:
    sizes = sized([MB + n for n in range(20)])
    at_10 = {"at": noon(3_600 * 10.5), "subject": ""}
    assert trend(sizes, [at_10 | {"kind": "restart"}])["points"] == 10
    savepoint = trend(sizes, [at_10 | {"kind": "savepoint"}])
    assert savepoint["points"] == 20


def test_ten_thousand_checkpoints_are_thinned_and_keep_their_slope() -> None:
    row = trend(sized([100 * MB + n * 100 for n in range(10_000)]))
    assert (row["points"], row["bytes_per_h"]) == (10_000, pytest.approx(100))
    assert MAX_POINTS <= 200


def test_savepoints_and_failures_are_no_points() -> None:
    others: list[dict[str, Any]] = [{"is_savepoint": True}, {"outcome": "failed"}]
    rows = sized([MB] * 6) + [
        fact | other | {"checkpoint_id": 90} for fact in sized([9 * MB]) for other in others
    ]
    assert trend(rows)["points"] == 6


def test_order_and_replays_do_not_matter() -> None:
    rows = sized([MB + (n * 7919) % 1000 for n in range(90)])
    notes = [
        {"at": noon(6_000), "kind": "restart", "subject": ""},
        {"at": noon(30_000), "kind": "savepoint", "subject": "7"},
    ]
    assert trend(rows, notes) == trend([*reversed(rows), *rows[:40]], [*reversed(notes), *notes])
