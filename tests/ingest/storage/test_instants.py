"""Modification times as storages tell them, forged ones too."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.storage.instants import cut, from_nanoseconds, modified_at

AT = datetime(2026, 11, 21, 4, 0, 14, 674_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "info",
    [
        {"mtime": AT.timestamp()},
        {"LastModified": AT},
        {"last_modified": AT.replace(tzinfo=None)},
        {"size": 1, "modified": None, "modification_time": AT},
    ],
)
def test_each_storage_has_its_own_name_for_it(info: dict[str, Any]) -> None:
    assert modified_at(info) == AT


def test_not_said_is_unknown() -> None:
    assert modified_at({"size": 1}) is None


@pytest.mark.parametrize("seconds", [1e15, -1e15, float("nan"), float("inf")])
def test_a_time_that_no_calendar_has_is_unknown(seconds: float) -> None:
    assert modified_at({"mtime": seconds}) is None


def test_nanoseconds_are_cut_to_milliseconds_without_rounding() -> None:
    assert from_nanoseconds(1_795_234_257_338_999_999) == datetime(
        2026, 11, 21, 4, 10, 57, 338_000, tzinfo=UTC
    )
    assert from_nanoseconds(10**30) is None
    assert cut(AT.replace(microsecond=674_999)) == AT
    assert cut(None) is None
