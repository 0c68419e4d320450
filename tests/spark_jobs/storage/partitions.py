"""The steps of an audit called as Spark calls them, partition by partition, without Spark."""

import zlib
from collections.abc import Mapping, Sequence

import pyarrow as pa

from spark_jobs.storage.audit import Step

Tasks = list[pa.Table]
"""What each call made of one part."""


class Partitions:
    """Rows are tables, or those that each call of the step before made."""

    def __init__(self, count: int) -> None:
        self.count = count

    def run(
        self,
        step: Step,
        parts: Mapping[str, pa.Table | Tasks],
        schemas: Mapping[str, pa.Schema],
        group_keys: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        shared: Mapping[str, pa.Table] | None = None,
    ) -> dict[str, Tasks]:
        if group_keys is None:
            calls = [
                dict(zip(parts, tables, strict=True))
                for tables in zip(*parts.values(), strict=True)
            ]
        else:
            key = {
                name: group_keys[name] if isinstance(group_keys, Mapping) else group_keys
                for name in parts
            }
            split = {
                name: self._split(self.collect(rows), key[name]) for name, rows in parts.items()
            }
            calls = [
                {name: tables[number] for name, tables in split.items()}
                for number in range(self.count)
            ]
        made = [
            step(call, shared or {})
            for call in calls
            if any(table.num_rows for table in call.values())
        ]
        empty = {name: schema.empty_table() for name, schema in schemas.items()}
        return {
            name: [(empty | one)[name].cast(schema) for one in made] or [empty[name]]
            for name, schema in schemas.items()
        }

    def collect(self, rows: pa.Table | Tasks) -> pa.Table:
        return pa.concat_tables(rows) if isinstance(rows, list) else rows

    def _split(self, rows: pa.Table, key: Sequence[str]) -> Tasks:
        keys = zip(*(rows.column(name).to_pylist() for name in key), strict=True)
        at = [zlib.crc32(repr(one).encode()) % self.count for one in keys]
        return [
            rows.filter(pa.array([one == number for one in at], pa.bool_()))
            for number in range(self.count)
        ]
