"""The job windows that rules are tested against are what Spark makes of the recordings today."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark_jobs.window_fixtures import Lines, lines_of_recordings
from tests.windows import recorded, recorded_windows, window_to_plain


@pytest.fixture(scope="module")
def today(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    return lines_of_recordings(spark, tmp_path_factory.mktemp("windows"))


@pytest.mark.parametrize("name", recorded())
def test_the_fixture_is_what_spark_makes_of_the_recording(today: Lines, name: str) -> None:
    kept = [json.loads(json.dumps(window_to_plain(window))) for window in recorded_windows(name)]
    made = [json.loads(line) for line in today[name]]
    assert len(kept) == len(made), "renew them: python -m tests.spark_jobs.window_fixtures"
    for one, other in zip(kept, made, strict=True):
        assert_same(one, {part: value for part, value in other.items() if part in one})


def test_every_recording_has_its_fixture(today: Lines) -> None:
    assert sorted(today) == recorded()


def assert_same(one: Any, other: Any, at: str = "window") -> None:
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
