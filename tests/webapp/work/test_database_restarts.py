"""A database that is restarted while work goes on costs at most what was just being written."""

import subprocess
import sys
from pathlib import Path

from tests.postgresql import migrated_database, postgresql
from tests.webapp.test_databases import environment
from webapp.config.environment import PROJECT_DIR

WORK = """
import django; django.setup()
import psycopg, sys
from datetime import timedelta
from django.db import Error
from django.utils import timezone
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import perform

def restart():
    with psycopg.connect(sys.argv[1], autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE pid <> pg_backend_pid() AND datname = current_database()")

def spark_then_load(lease, record):
    restart()
    with lease.writing():
        record.counts["loaded"] = True

def read(lease, record):
    restart()
    DueWork.objects.count()

for key, do in (("written/then", spark_then_load), ("read/then", read)):
    registry.register(registry.Work(key, registry.MAINTAIN_TASK, every=dict, do=do))
    DueWork.objects.ensure({key: 30}, timezone.now())
    try:
        perform(key)
    except Error:
        pass
print([(run.key, run.state, run.counts) for run in PipelineRun.objects.order_by("id")])
print([(row.key, row.failures, row.lease_until) for row in DueWork.objects.order_by("id")])
"""


def test_work_goes_on_or_is_given_back_with_its_error(tmp_path: Path) -> None:
    with postgresql() as server:
        url = migrated_database(server, "weir")
        done = subprocess.run(
            [sys.executable, "-c", WORK, url],
            env=environment(tmp_path, url),
            cwd=PROJECT_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    runs, rows = map(eval, done.stdout.splitlines())
    assert runs == [("written/then", "done", {"loaded": True}), ("read/then", "failed", {})]
    assert rows == [("written/then", 0, None), ("read/then", 1, None)]
