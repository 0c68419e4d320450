"""Four workers share the tests: one begins with those against a real Flink, which often wait, the
others with the rest.
"""

import gc
import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest
from django.db.backends.signals import connection_created
from django.test import TransactionTestCase
from pytest_django.fixtures import Settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import spark_classes
from tests.migrated import begin_again, begin_with_migrated, looked_up_on_disk
from tests.spark_processes import connect_server
from tests.weir_settings import WeirSettings, below
from webapp.config import preparation

# No JVM of the tests lives long enough to win back what the slower, better compiler takes of two
# cores.
# With the quick compiler alone a JVM keeps 48 MiB of compiled code. Spark fills that: methods are
# thrown out and compiled again and again.
COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
os.environ.setdefault("JDK_JAVA_OPTIONS", f"{COMPILER} {spark_classes.jvm_options()}")


# How long examples take to make depends on who else computes: no property is judged by it.
hypothesis.settings.register_profile(
    "weir", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("weir")


def pytest_configure(config: pytest.Config) -> None:
    """Where whole folders are tested side by side, there will be many JVMs."""
    if getattr(config.option, "numprocesses", None):
        spark_classes.make_where_missing()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    connection_created.connect(begin_with_migrated)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    connection_created.disconnect(begin_with_migrated)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            TransactionTestCase,
            "_fixture_teardown",
            begin_again(TransactionTestCase._fixture_teardown),
        )
        patch.setattr(preparation, "_is_behind", looked_up_on_disk(preparation._is_behind))
        yield


@pytest.fixture(scope="session")
def warm_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server, as `make run` keeps one: each command that runs a cycle would
    otherwise start a JVM of its own.
    """
    with connect_server(tmp_path_factory.mktemp("warm-spark")) as remote:
        yield remote


@pytest.fixture
def weir(settings: Settings) -> WeirSettings:
    def change(**fields: object) -> None:
        settings.WEIR = replace(settings.WEIR, **fields)

    return change


@pytest.fixture
def home(weir: WeirSettings, tmp_path: Path) -> Path:
    """Everything that Weir writes lies below it."""
    weir(**below(tmp_path))
    return tmp_path


REAL_FLINK = (
    "integration/test_cleanup.py",
    "integration/test_live.py",
    "integration/test_checkpoints.py",
)
"""One after the other: two Flinks at once would take each other's time."""
ON_WARM_SPARK = (
    "acceptance/",
    "spark_jobs/test_cluster_modes.py",
    "spark_jobs/test_cluster_audits.py",
    "webapp/pipeline/test_lost_runs_spark.py",
)
"""Homes that take minutes to fill are filled once, and one server compiles what all of these run.
"""
IN_ONE_SESSION = ("spark_jobs/", "contracts/")
"""A JVM takes half a minute of CPU until it has loaded and compiled what these have in common."""
TOGETHER = {
    **dict.fromkeys(REAL_FLINK, "flink"),
    **dict.fromkeys(ON_WARM_SPARK, "spark"),
    **dict.fromkeys(IN_ONE_SESSION, "session"),
}
"""Where a path begins → what stays with one worker. Every other file stays whole, too."""

LONGEST_FIRST = (
    "integration/test_named_causes.py",
    *REAL_FLINK,
    *ON_WARM_SPARK,
    "webapp/pipeline/test_workers.py",
    "spark_jobs/storage/test_worlds.py",
    "webapp/config/test_frozen_redis.py",
    "spark_jobs/storage/",
    "webapp/test_databases.py",
    "integration/",
    "spark_jobs/",
    "webapp/delivery/test_killed.py",
    "webapp/cleanup/test_killed.py",
    "webapp/cleanup/test_whole.py",
    "webapp/cleanup/test_applying.py",
    "ingest/test_memory.py",
)
"""Files and folders that take minutes, so that none of them is left for the end; those that wait in
turn with those that calculate.
"""

OBJECTS_UNTIL_GARBAGE_IS_LOOKED_FOR = 20_000


class Together(LoadScopeScheduling):
    """Hands out files, and those of :data:`TOGETHER` that belong together as one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        path = file.partition("/")[2]
        return next((unit for begins, unit in TOGETHER.items() if path.startswith(begins)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is imported and collected is garbage; walking over it took the collector a sixth
    of the CPU of tests in this process.
    """
    gc.disable()
    collected = yield
    gc.freeze()
    gc.set_threshold(OBJECTS_UNTIL_GARBAGE_IS_LOOKED_FOR, 20, 20)
    gc.enable()
    return collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    items.sort(key=lambda item: _turn(item.path.relative_to(here).as_posix()))


def _turn(file: str) -> int:
    turns = (turn for turn, begins in enumerate(LONGEST_FIRST) if file.startswith(begins))
    return next(turns, len(LONGEST_FIRST))
