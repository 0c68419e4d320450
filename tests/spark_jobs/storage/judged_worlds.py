"""Worlds through one run of the audit, and what it said of each."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.audit_locally import LocalEngine
from spark_jobs.storage.audit import judge
from spark_jobs.storage_words import ORPHAN, RETAINED_WASTE
from tests.spark_jobs.storage.packed import inputs_of
from tests.spark_jobs.storage.worlds import World


@dataclass
class Said:
    """What the audit said of one world: verdict, reason and kind by path; its doubts, and how far
    each reaches (code, places).
    """

    files: dict[str, tuple[str, str, str | None]]
    doubts: set[str]
    reaches: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def deletable(self) -> set[str]:
        return {
            path
            for path, (verdict, _, _) in self.files.items()
            if verdict in (ORPHAN, RETAINED_WASTE)
        }

    def paths(self, verdict: str) -> set[str]:
        return {path for path, said in self.files.items() if said[0] == verdict}


@dataclass
class Judged:
    """Worlds, each with what was said of it; ``tables`` is where every row of the run lies, by the
    name of its table.
    """

    worlds: list[tuple[World, Said]]
    tables: dict[str, Path]

    def __iter__(self) -> Iterator[tuple[World, Said]]:
        return iter(self.worlds)

    def __len__(self) -> int:
        return len(self.worlds)

    def of(self, worlds: Sequence[World]) -> "Judged":
        """These alone."""
        seeds = {one.seed for one in worlds}
        return Judged([(one, said) for one, said in self.worlds if one.seed in seeds], self.tables)

    def rows_of(self, worlds: Sequence[World]) -> dict[str, list[str]]:
        """All rows of every table that are about ``worlds``, in an order of their own."""
        audits = [str(one.seed) for one in worlds]
        return {
            name: sorted_rows(*sorted(at.glob("*.parquet")), audits=audits)
            for name, at in self.tables.items()
        }


def sorted_rows(*files: Path, audits: Sequence[str] | None = None) -> list[str]:
    """The rows of Parquet files as JSON; those of ``audits`` alone where given."""
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    chosen = (
        rows
        if audits is None or not rows or "audit_id" not in rows[0]
        else [row for row in rows if row["audit_id"] in audits]
    )
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in chosen)


def judged_worlds(
    worlds: Sequence[World], scratch: Path, *, written: Sequence[World] = ()
) -> Judged:
    """All in one run; the ``_metadata`` of those ``written`` lie on disk and are read."""
    judged = judge(inputs_of(worlds, scratch, written=written), LocalEngine())
    found = judged.tables | {
        "files": pa.concat_tables([judged.live, judged.not_live.drop_columns("root_no")]),
        "references": judged.references,
        "absent": pa.concat_tables(judged.absent),
        "pending": pa.concat_tables(judged.pending),
    }
    tables = {name: scratch / f"said-{name}" for name in found}
    for name, rows in found.items():
        tables[name].mkdir()
        pq.write_table(rows, tables[name] / "rows.parquet")
    said: dict[str, Said] = defaultdict(lambda: Said({}, set()))
    for row in _rows(tables["files"], "audit_id", "path", "verdict", "reason", "kind"):
        said[row["audit_id"]].files[row["path"]] = (row["verdict"], row["reason"], row["kind"])
    for row in _rows(tables["storage_doubt"], "audit_id", "reason", "reach", "places"):
        said[row["audit_id"]].doubts.add(row["reason"])
        said[row["audit_id"]].reaches.append((row["reach"], json.loads(row["places"])))
    return Judged([(one, said[str(one.seed)]) for one in (*worlds, *written)], tables)


def _rows(at: Path, *columns: str) -> Iterator[dict[str, Any]]:
    for file in at.glob("*.parquet"):
        yield from pq.read_table(file, columns=list(columns)).to_pylist()
