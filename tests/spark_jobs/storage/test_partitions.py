"""An audit says the same whether its steps see all rows at once or each call a part of them; and of
a root that holds nothing.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.audit_locally import LocalEngine
from spark_jobs.audit_tables import AUDIT_TABLES
from spark_jobs.storage.audit import Inputs, Judged, judge
from spark_jobs.storage.path_facts import LISTING
from tests.selections import mostly_long
from tests.spark_jobs.storage.packed import inputs_of
from tests.spark_jobs.storage.partitions import Partitions
from tests.spark_jobs.storage.worlds import NOW, world

FIRST_SEED, WORLDS = 4_000_150, 150


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Of worlds in which files are merged as well, operators have state and some files are
    missing.
    """
    plain = inputs_of(
        [world(FIRST_SEED + number) for number in range(WORLDS)], tmp_path_factory.mktemp("worlds")
    )
    parsed = pa.Table.from_pylist(
        list(with_segments(plain.parsed.to_pylist())), plain.parsed.schema
    )
    listed = pa.array(np.random.default_rng(1).random(plain.listing.num_rows) > 0.05)
    return replace(plain, parsed=parsed, listing=plain.listing.filter(listed))


def with_segments(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    states = [{"name": "s", "mode": "UNION", "offsets": 300}]
    for row in rows:
        if row["path"] is None or chance.random() < 0.7:
            yield row
            continue
        for offset in chance.sample(range(5), 3):
            segment = {
                "ordinal": row["ordinal"] + 1000 * offset,
                "offset_bytes": offset,
                "size_bytes": chance.choice([None, 3, 7]),
            }
            operator = {
                "kind": "managed-op",
                "operator_id": chance.choice("ab"),
                "subtask": offset,
                "state_bytes": 9000,
                "states": states,
            }
            yield row | segment | operator


@pytest.fixture(scope="module")
def whole(inputs: Inputs) -> dict[str, list[str]]:
    return rows_of(judge(inputs, LocalEngine()), LocalEngine())


@pytest.mark.parametrize("count", mostly_long([2, 37]))
def test_partitions_come_to_the_same_row_by_row(
    inputs: Inputs, whole: dict[str, list[str]], count: int
) -> None:
    engine = Partitions(count)
    found = rows_of(judge(inputs, engine), engine)
    assert found == whole
    assert all(found[name] for name in ("live", "not_live", "references", "absent", *AUDIT_TABLES))


@pytest.mark.parametrize("engine", [LocalEngine(), Partitions(3)])
@pytest.mark.parametrize("files", [0, 2])
def test_a_root_without_any_checkpoint_is_audited(
    engine: LocalEngine | Partitions, files: int
) -> None:
    root = {
        "audit_id": "a",
        "root": "s3://b/flink",
        "as_of": round(NOW.timestamp() * 1e6),
        "age_guard_h": 72.0,
        "clusters": [],
        "unreachable": False,
        "any_unreachable": False,
        "attested": True,
        "unlisted": 0,
        "links": [],
        "known_authorities": ["s3://b"],
    }
    paths = [
        f"s3://b/flink/{name}"
        for name in ("README", f"{'a' * 32}/shared/01234567-89ab-cdef-0123-456789abcdef")
    ][:files]
    rows = [
        {
            "audit_id": "a",
            "root": root["root"],
            "path": path,
            "listed_path": path,
            "bytes": 5,
            "modified": NOW,
        }
        for path in paths
    ]
    nothing = inputs_of([], Path())
    inputs = replace(nothing, roots=[root], listing=pa.Table.from_pylist(rows, LISTING))
    judged = judge(inputs, engine)
    (figures,) = judged.tables["storage_root"].to_pylist()
    assert (
        figures["files"],
        figures["kept_files"],
        figures["cleanable"],
        figures["checkpoints"],
    ) == (files, files, True, 0)
    assert engine.collect(judged.not_live).num_rows == files


def rows_of(judged: Judged, engine: LocalEngine | Partitions) -> dict[str, list[str]]:
    held = {"live": [judged.live], "not_live": [judged.not_live], "references": [judged.references]}
    of_files = {name: [engine.collect(one) for one in parts] for name, parts in held.items()}
    of_files |= {
        "absent": [*map(engine.collect, judged.absent)],
        "pending": [*map(engine.collect, judged.pending)],
    }
    tables = of_files | {name: [rows] for name, rows in judged.tables.items()}
    return {
        name: sorted(str(row) for one in parts for row in one.to_pylist())
        for name, parts in tables.items()
    }
