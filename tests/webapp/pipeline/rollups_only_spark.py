"""The stand-in for Spark where no cycle is needed."""

from collections.abc import Sequence

from tests.webapp.pipeline import stand_in_spark


def run_job(words: Sequence[str]) -> int:
    assert words[0] != "cycle"
    return stand_in_spark.run_job(words)
