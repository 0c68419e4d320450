"""What every command waits for before it does anything."""

import subprocess
import sys

from webapp.config.environment import PROJECT_DIR

HEAVY = (
    *(
        "celery",
        "kombu",
        "redis",
        "pyarrow",
        "numpy",
        "pandas",
        "aiohttp",
        "deltalake",
        "psycopg",
        "pyspark",
        "google.protobuf",
    ),
    *(
        "ingest.lake.reader",
        "ingest.lake.store",
        "ingest.cluster_run",
        "spark_jobs.session",
    ),  # of ours
)
LOADED = f"import sys, django; django.setup(); print(*sorted({{*sys.modules}} & {{*{HEAVY!r}}}))"


def test_a_command_that_needs_none_of_them_loads_no_large_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stdout.split() == []


def test_the_way_to_the_broker_does() -> None:
    """Or the test above would prove nothing."""
    code = f"import webapp.work.broker; {LOADED}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert {"celery", "kombu", "redis"} <= {*done.stdout.split()}
