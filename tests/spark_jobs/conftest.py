"""One Spark session for the whole run: small, quiet, without adaptive plans, in a scratch folder."""

import logging
import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark_jobs.instances import SmallInstance, play_whole


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic session on this machine, whatever the environment says."""
    scratch = tmp_path_factory.mktemp("spark")
    # It takes leave while the interpreter goes down, when the handlers that pytest set up are
    # closed already.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    before = {name: os.environ.pop(name, None) for name in ("SPARK_REMOTE", "SPARK_MASTER")}
    os.environ["SPARK_MASTER"] = "local[2]"
    os.environ["WEIR_SPARK_DRIVER_MEMORY"] = "1g"
    from spark_jobs.session import SMALL_INPUT_OPTIONS, open_session

    session = open_session(
        "weir-tests",
        options={
            **SMALL_INPUT_OPTIONS,
            "spark.sql.shuffle.partitions": "1",
            # No plan runs often enough to be worth compiling well.
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        },
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    for name, value in before.items():
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SmallInstance:
    """All of ``NAMES`` imported once, in one run without Spark."""
    instance = SmallInstance(None, tmp_path_factory.mktemp("whole"))  # type: ignore[arg-type]
    play_whole(instance)
    return instance
