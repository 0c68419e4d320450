"""A checkpoint has one shape: the serving table ``checkpoint_fact``. Samples of rules and the API are held to it."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from spark_jobs.diagnosis.samples import CheckpointSample
from spark_jobs.serving import SERVING_TABLES
from webapp.checkpoints.api.views import CheckpointSerializer

COLUMNS = {column.name: column for column in SERVING_TABLES["checkpoint_fact"].columns}
HINTS = get_type_hints(CheckpointSample)
OF_KIND = {"int": int, "instant": int, "real": float, "flag": bool, "text": str}


def column_of(field: str) -> str:
    """Instants of samples are epoch milliseconds, and say so in their names."""
    return field if field in COLUMNS else field.removesuffix("_ms")


@pytest.mark.parametrize("name", [one.name for one in fields(CheckpointSample)])
def test_a_field_of_a_sample_is_a_column_of_the_serving_table_of_the_same_type(name: str) -> None:
    column = COLUMNS[column_of(name)]
    assert (column.kind == "instant") == (name not in COLUMNS)
    if column.kind == "json":
        assert get_args(HINTS[name])[0] == Mapping[str, Any]
    else:
        assert OF_KIND[column.kind] in (HINTS[name], *get_args(HINTS[name]))


def test_the_api_gives_every_column_by_its_name() -> None:
    assert set(CheckpointSerializer().fields) == set(COLUMNS)
