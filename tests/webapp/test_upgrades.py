"""An instance upgrades by ``migrate`` alone: what an earlier release kept is read by this one."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.config.environment import PROJECT_DIR

HOME = PROJECT_DIR / "tests" / "fixtures" / "homes" / "before_layers.sql.gz"

SEEN = """
import json
import django; django.setup()
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
from webapp.work.models import DueWork
from webapp.work.registry import work_of
user = get_user_model().objects.create_superuser("ada", password="x")
client = Client(HTTP_HOST="localhost"); client.force_login(user)
job = apps.get_model("fleet", "JobCurrent").objects.get()
plan = apps.get_model("storage", "CleanupPlan").objects.get()
print(json.dumps({
    "rows": {model._meta.db_table: model._default_manager.count() for model in apps.get_models()},
    "pages": [client.get(path).status_code for path in (
        "/", f"/jobs/{job.cluster}/{job.job_id}/", "/findings/", "/alerts/", "/storage/", f"/storage/plans/{plan.pk}/", "/pipeline/"
    )],
    "tasks": {key: work_of(key).task.name for key in DueWork.objects.values_list("key", flat=True)},
}))
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("home") / "weir.sqlite3"
    with sqlite3.connect(file) as database:
        database.executescript(gzip.decompress(HOME.read_bytes()).decode())
    return file


def test_a_home_of_before_the_layers_keeps_every_row_page_and_piece_of_work(before: Path) -> None:
    with sqlite3.connect(before) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {table: database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}
        keys = {key for (key,) in database.execute("SELECT key FROM pipeline_duework")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "DJANGO_"))}
    variables = kept | {"WEIR_HOME": str(before.parent), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    told = subprocess.run([sys.executable, "-c", SEEN], env=variables, cwd=PROJECT_DIR, check=True, capture_output=True, text=True)
    seen = json.loads(told.stdout.splitlines()[-1])

    lost = {table: count for table, count in rows.items() if table in seen["rows"] and seen["rows"][table] < count}
    assert not lost
    assert rows["fleet_jobcurrent"] == 1 and rows["storage_cleanupplan"] == 1 and len(keys) > 4
    assert seen["pages"] == [200] * len(seen["pages"])
    assert set(seen["tasks"]) == keys
    assert seen["tasks"]["spark/cycle"] == "pipeline.spark_cycle" and seen["tasks"]["maintenance/lake"] == "pipeline.maintain"
