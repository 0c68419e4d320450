"""The job windows that rules are tested against are what Spark makes of the recordings today."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark_jobs.window_fixtures import lines_of, recordings
from tests.windows import recorded, recorded_windows, window_to_plain

FEW = dict(list(recordings().items())[:1])


@pytest.mark.parametrize("some", [FEW, pytest.param(recordings(), marks=pytest.mark.long)])
def test_the_fixture_is_what_spark_makes_of_the_recording(
    spark: SparkSession, tmp_path: Path, some: dict[str, Path]
) -> None:
    today = lines_of(spark, tmp_path, some)
    assert today.keys() == some.keys()
    for name, lines in today.items():
        _assert_same_windows(name, lines)


def _assert_same_windows(name: str, lines: list[str]) -> None:
    kept = [json.loads(json.dumps(window_to_plain(window))) for window in recorded_windows(name)]
    made = [json.loads(line) for line in lines]
    assert len(kept) == len(made), "renew them: python -m tests.spark_jobs.window_fixtures"
    for one, other in zip(kept, made, strict=True):
        assert_same(
            one, {part: value for part, value in other.items() if part in one}, f"{name}: window"
        )


def test_every_recording_has_its_fixture() -> None:
    assert sorted(recordings()) == recorded()


def assert_same(one: Any, other: Any, at: str) -> None:
    """Equal, but for the last digits of means: they depend on the order in which Spark adds."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), at
        for name in one:
            assert_same(one[name], other[name], f"{at}.{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), at
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_same(left, right, f"{at}[{place}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9), at
    else:
        assert one == other, at
