from collections.abc import Mapping
from typing import Any

import pyarrow as pa


def filled(
    rows: pa.RecordBatch, schema: pa.Schema, values: Mapping[str, Any], *, safe: bool = True
) -> pa.RecordBatch:
    """``rows`` with the columns of ``schema``. ``values``: arrays, or one value for all rows; they
    replace columns. A column that is in neither is null. ``safe``: raise for a value that its
    column cannot hold as it is, instead of cutting it.
    """
    columns = {name: rows[name] for name in rows.schema.names} | dict(values)
    arrays = []
    for field in schema:
        value = columns.get(field.name)
        arrays.append(
            value.cast(field.type, safe=safe)
            if isinstance(value, pa.Array)
            else pa.repeat(pa.scalar(value, field.type), rows.num_rows)
        )
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
