"""What the lake has of a checkpoint is of the type that the sample of rules declares."""

import pyarrow as pa
import pytest

from ingest.lake.derived import ALL_TABLES
from ingest.lake.tables import FLAG, INSTANT, INT, REAL, TEXT
from spark_jobs.serving import CHECKPOINT_FACT

OF_KIND = {"text": TEXT, "int": INT, "real": REAL, "flag": FLAG, "instant": INSTANT}
SHARED = [
    (table, column)
    for table in ("checkpoints", "derived/checkpoint_facts")
    for column in ALL_TABLES[table].columns
    if column.name in CHECKPOINT_FACT.by_name
]


@pytest.mark.parametrize("table, column", SHARED)
def test_a_column_of_the_lake_has_the_declared_type(table: str, column: pa.Field) -> None:
    assert column.type == OF_KIND[CHECKPOINT_FACT.by_name[column.name].kind]
