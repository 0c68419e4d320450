"""From verdicts to the files of a plan: what gets in, what is left out and why, and that parts come
in order.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.webapp.cleanup import worlds
from tests.webapp.cleanup.carrying import Carried, plan
from tests.webapp.cleanup.worlds import GUARD, NOW, World
from webapp.cleanup import plan_builder, verdicts
from webapp.cleanup.errors import PlanRefused
from webapp.cleanup.manifest import PlannedRoot, SearchedAudit

_MICROSECONDS = pa.timestamp("us", tz="UTC")


def planned(world: World, tmp_path: Path, rows: list[dict[str, Any]], **changes: Any) -> Carried:
    """A plan of these rows, whatever lies on the disk."""
    files = worlds.write_verdicts(tmp_path / "notified", rows, "a")
    return plan(
        world,
        tmp_path,
        verdict_files=files,
        audit_id="a",
        audits=[SearchedAudit("a", NOW.isoformat())],
        **changes,
    )


def row_of(world: World, **changes: Any) -> dict[str, Any]:
    """An orphan that may go."""
    (row,) = [row for row in world.verdicts() if row["verdict"] == "orphan"]
    return row | changes


def paths(carried: Carried) -> list[str]:
    return [path for part in carried.reader.parts() for path in part["path"].to_pylist()]


def test_an_orphan_with_its_proof_gets_in(world: World, orphan: Path, tmp_path: Path) -> None:
    carried = planned(world, tmp_path, [row_of(world)])
    (row,) = next(iter(carried.reader.parts())).to_pylist()
    assert row["path"] == f"file:{orphan}" and row["age_ms"] == int(
        (NOW - worlds.OLD).total_seconds() * 1000
    )
    assert (row["reason"], row["place"], row["job_id"]) == (
        "unreferenced",
        "shared",
        worlds.name_of_job(1),
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"modified": NOW - GUARD + timedelta(seconds=1)}, "younger_than_the_guard"),
        ({"first_seen_at": NOW - timedelta(hours=1)}, "younger_than_the_guard"),
        ({"modified": NOW + timedelta(days=1)}, "younger_than_the_guard"),
        ({"modified": None}, "size_or_time_unknown"),
        ({"bytes": None}, "size_or_time_unknown"),
        ({"place": "unknown"}, "not_a_place_of_checkpoints"),
        ({"place": "savepoint"}, "not_a_place_of_checkpoints"),
        ({"place": "metadata"}, "not_a_place_of_checkpoints"),
        ({"unreferenced_since": None}, "seen_unreferenced_once"),
        ({"unreferenced_since": NOW}, "seen_unreferenced_once"),
        ({"listed_path": "/elsewhere/file"}, "outside_its_root"),
        ({"path": "file:/elsewhere/file"}, "outside_its_root"),
    ],
)
def test_a_row_that_lacks_a_part_of_its_proof_is_left_out_and_counted(
    world: World, orphan: Path, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    carried = planned(world, tmp_path, [row_of(world, **changes)])
    assert carried.reader.manifest.total_files == 0
    assert carried.reader.manifest.withheld_files == {reason: 1}


def test_instants_to_the_microsecond_as_spark_writes_them_are_read(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    (file,) = worlds.write_verdicts(tmp_path / "spark", [row_of(world)], "a", 1)
    exact = pq.read_table(file)
    schema = pa.schema(
        [
            pa.field(
                column.name, _MICROSECONDS if pa.types.is_timestamp(column.type) else column.type
            )
            for column in exact.schema
        ]
    )
    row = exact.cast(schema).to_pylist()[0]
    row |= {
        name: row[name] + timedelta(microseconds=457)
        for name in ("first_seen_at", "unreferenced_since")
    }
    pq.write_table(pa.Table.from_pylist([row], schema), file)
    as_of = NOW + timedelta(microseconds=789)
    assert paths(plan(world, tmp_path, verdict_files=[file], audit_id="a", as_of=as_of)) == [
        f"file:{orphan}"
    ]


def test_a_path_that_climbs_out_of_its_root_is_left_out(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    climbing = row_of(world, listed_path=f"{world.root}/../elsewhere/{orphan.name}")
    assert planned(world, tmp_path, [climbing]).reader.manifest.withheld_files == {
        "outside_its_root": 1
    }


@pytest.mark.parametrize("verdict", ["live", "recent", "kept", "retained_waste"])
def test_other_verdicts_are_no_matter_of_a_plan(
    world: World, orphan: Path, tmp_path: Path, verdict: str
) -> None:
    carried = planned(world, tmp_path, [row_of(world, verdict=verdict)])
    assert (carried.reader.manifest.total_files, carried.reader.manifest.withheld_files) == (0, {})


def test_two_files_that_come_to_one_name_are_both_left_out(
    world: World, orphan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = row_of(world)
    other = row | {"path": row["path"][:-1] + "~"}
    twice = [row, row | {"listed_path": f"{row['listed_path']}%20"}, other]
    for batch_rows in (1, 2, 100):
        monkeypatch.setattr(verdicts, "BATCH_ROWS", batch_rows)
        carried = planned(world, tmp_path, twice)
        assert paths(carried) == [other["path"]]
        assert carried.reader.manifest.withheld_files == {"two_files_of_one_name": 2}


def test_parts_are_sorted_and_bounded_however_the_audit_was_cut(
    world: World, orphan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_builder, "PART_ROWS", 7)
    row = row_of(world)
    many = [
        row
        | {"path": f"{row['path']}-{number:03}", "listed_path": f"{row['listed_path']}-{number:03}"}
        for number in range(40)
    ]
    carried = planned(world, tmp_path, many)
    assert paths(carried) == sorted(row["path"] for row in many)
    assert [part.rows for part in carried.reader.manifest.parts] == [7] * 5 + [5]


@pytest.mark.parametrize("parts", [1, 2])
def test_verdicts_out_of_order_make_no_plan(
    world: World, orphan: Path, tmp_path: Path, parts: int
) -> None:
    row = row_of(world)
    rows = [row | {"path": row["path"] + letter} for letter in "adbc"]
    files = worlds.write_verdicts(tmp_path / "notified", rows, "a", parts, in_order=False)
    with pytest.raises(PlanRefused, match="not sorted"):
        plan(world, tmp_path, verdict_files=files, audit_id="a")


def test_what_is_more_than_a_plan_holds_is_left_for_the_next(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    row = row_of(world)
    many = [
        row | {"path": f"{row['path']}-{number}", "listed_path": f"{row['listed_path']}-{number}"}
        for number in range(9)
    ]
    carried = planned(world, tmp_path, many, most_files=4)
    assert len(paths(carried)) == 4 and carried.reader.manifest.withheld_files == {
        "more_than_a_plan_holds": 5
    }


def test_nothing_of_a_root_that_is_not_to_be_cleaned_gets_in(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    other = PlannedRoot("file:/other", "/other", "/other.q")
    assert planned(world, tmp_path, [row_of(world)], roots=[other]).reader.manifest.total_files == 0


def test_the_name_of_a_plan_is_that_of_its_content(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    row = row_of(world)
    one, same = planned(world, tmp_path, [row]), planned(world, tmp_path, [row])
    other = planned(world, tmp_path, [row | {"bytes": row["bytes"] + 1}])
    assert one.reader.name == same.reader.name != other.reader.name
