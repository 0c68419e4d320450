"""Contracts between the Python and the Spark side run in the same session as the Spark tests."""

from tests.spark_jobs.conftest import spark

__all__ = ["spark"]
