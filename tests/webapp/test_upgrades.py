"""An instance upgrades by ``migrate`` alone: what an earlier release kept, in its database and in its lake, is read by this one."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from ingest.lake.tables import TABLES
from tests.installation import Installation
from webapp.config.environment import PROJECT_DIR

HOME = PROJECT_DIR / "tests" / "fixtures" / "homes" / "before_layers.sql.gz"

MARKS = {("findings_finding", "to_alert")}
"""What says that a row is to be looked at again: incidents are made of findings that were open before there were any."""

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


@dataclass
class Upgraded:
    """``before`` and ``migrated``: the database as the earlier release left it, and after ``migrate`` alone.

    ``lake``: rows by raw table, as that release left them.
    """

    before: sqlite3.Connection
    migrated: sqlite3.Connection
    lake: dict[str, int]
    home: Path
    told: dict[str, Any]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    """The whole home of 2026-11-23, moved here, and then: migrated, looked at, the next cycle, looked at again."""
    home = tmp_path_factory.mktemp("upgraded") / "home"
    with tarfile.open(HOME.parent / "of_2026_11_23.tar.xz") as packed:
        packed.extractall(home, filter="data")
    for place in (home / "weir.sql", *(home / "plans").rglob("*.json"), *(home / "runs").rglob("*.json")):
        place.write_text(place.read_text().replace("/weir-home", str(home)))
    with sqlite3.connect(home / "weir.sqlite3") as database:
        database.executescript((home / "weir.sql").read_text())
    lake = lake_rows(home)
    copy = home.parent / "migrated.sqlite3"
    told = Installation(home).story("migrate", f"copy_database={copy}", "see=migrated", "work", "see=on")
    before = sqlite3.connect(":memory:")
    before.executescript((home / "weir.sql").read_text())
    return Upgraded(before, sqlite3.connect(copy), lake, home, told)


def lake_rows(home: Path) -> dict[str, int]:
    places = {name: home / "lake" / name for name in TABLES}
    return {name: DeltaTable(place).to_pyarrow_dataset().count_rows() for name, place in places.items() if place.is_dir()}


def columns(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Of each table."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    return {table: [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')] for table in tables}


def test_migrations_keep_every_value_of_a_lived_in_home(upgraded: Upgraded) -> None:
    old, new = columns(upgraded.before), columns(upgraded.migrated)
    assert {table: set(names) - set(new.get(table, ())) for table, names in old.items() if not set(names) <= set(new.get(table, ()))} == {}
    for table, names in old.items():
        kept = [f'"{name}"' for name in names if (table, name) not in MARKS]
        query = f'SELECT {", ".join(kept)} FROM "{table}"'
        assert set(upgraded.before.execute(query)) <= set(upgraded.migrated.execute(query)), table


def test_pages_secrets_and_sign_ins_of_an_earlier_home_work_before_and_after_the_next_cycle(upgraded: Upgraded) -> None:
    for seen in (upgraded.told["migrated"], upgraded.told["on"]):
        assert {path: status for path, status in seen["pages"].items() if status != 200} == {}
        assert len(seen["pages"]) > 16 and seen["secret"] and seen["signs_in"]


def test_the_next_cycle_takes_in_what_the_earlier_release_had_collected_and_loses_nothing(upgraded: Upgraded) -> None:
    migrated, on = upgraded.told["migrated"], upgraded.told["on"]
    assert {table: count for table, count in migrated["tables"].items() if on["tables"][table] < count} == {}
    facts = {(row["cluster"], row["checkpoint_id"]): row for row in on["api"]["checkpoints"]["results"]}
    for row in migrated["api"]["checkpoints"]["results"]:
        now = facts[row["cluster"], row["checkpoint_id"]]
        assert [now[name] for name in ("outcome", "trigger_time", "end_to_end_ms")] == [
            row[name] for name in ("outcome", "trigger_time", "end_to_end_ms")
        ]
    assert {cluster for cluster, _ in facts} == {"case", "later"} != {row["cluster"] for row in migrated["api"]["checkpoints"]["results"]}
    assert upgraded.lake["checkpoints"] and lake_rows(upgraded.home) == upgraded.lake
