"""One process of a story: ``python -m tests.lived_in STEP…``; prints what people and machines see at its end, as JSON."""

import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 - after Django
from django.core.management import call_command  # noqa: E402 - after Django
from django.db import connection  # noqa: E402 - after Django
from django.test import Client  # noqa: E402 - after Django
from django.urls import reverse  # noqa: E402 - after Django

from ingest.replay.shipped import recordings  # noqa: E402 - after Django
from webapp.accounts.models import ApiToken  # noqa: E402 - after Django
from webapp.checkpoints.models import CheckpointFact  # noqa: E402 - after Django
from webapp.cleanup.models import CleanupPlan  # noqa: E402 - after Django
from webapp.findings.models import Finding  # noqa: E402 - after Django
from webapp.fleet.models import Cluster, JobCurrent  # noqa: E402 - after Django
from webapp.pipeline import loader  # noqa: E402 - after Django
from webapp.storage.models import StorageRoot  # noqa: E402 - after Django
from webapp.work.models import Manifest  # noqa: E402 - after Django

SECRET = "hunter2-hunter2"
PAGES = ("/", "/findings/", "/pipeline/", "/pipeline/kept/", "/storage/", "/alerts/")
HELD_AT = 4
"""The tables of the job and its checkpoints are in, those of its findings are not."""
LISTS = ("jobs", "findings", "checkpoints", "clusters", "alerts", "skipped-inputs")


def live() -> None:
    user = get_user_model().objects.create_superuser("ada", password=SECRET)
    ApiToken.objects.issue(user, "machine")
    cluster = Cluster(name="secretive", url="http://127.0.0.1:9", enabled=False, auth_scheme="bearer")
    cluster.set_secret(SECRET)
    cluster.save()
    take("1.20.5/E", "case")


def take(recording: str, name: str) -> None:
    call_command("import_recording", str(recordings() / recording), "--cluster", name, verbosity=0)
    call_command("run_pipeline", "--json")


def hold_a_load(folder: Path) -> None:
    """The next cycle is held in the middle of its load, within a transaction, from ``folder``/held on until ``folder``/go is there."""
    upsert, calls = loader.upsert, []

    def held(*args: Any, **more: Any) -> Any:
        calls.append(args)
        if len(calls) == HELD_AT:
            (folder / "held").touch()
            while not (folder / "go").exists():
                time.sleep(0.05)
        return upsert(*args, **more)

    loader.upsert = held


def pages_of_rows() -> Iterator[str]:
    """One page of each kind of row that is there."""
    for job in JobCurrent.objects.order_by("pk"):
        yield reverse("job", args=(job.cluster, job.job_id))
    for fact in CheckpointFact.objects.order_by("pk")[:1]:
        yield reverse("checkpoint-by-id", args=(fact.cluster, fact.job_id, fact.checkpoint_id))
    for found in Finding.objects.order_by("pk"):
        yield reverse("finding", args=(found.pk,))
    for root in StorageRoot.objects.order_by("pk"):
        yield f"{reverse('storage-root')}?{urlencode({'uri': root.uri})}"
        yield f"{reverse('storage-files')}?{urlencode({'uri': root.uri})}"
    for plan in CleanupPlan.objects.order_by("pk"):
        yield reverse("cleanup-plan", args=(plan.pk,))


def seen() -> dict[str, Any]:
    client = Client(HTTP_HOST="localhost")
    client.force_login(get_user_model().objects.get(username="ada"))
    api = {name: client.get(f"/api/v1/{name}/").json() for name in LISTS}
    with connection.cursor() as cursor:
        tables = {}
        # Looking signs in, which makes a session each time.
        for table in sorted({*connection.introspection.table_names(cursor)} - {"django_session", "accounts_auditentry"}):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")
            tables[table] = cursor.fetchone()[0]
    return {
        "api": api,
        "fleet": b"".join(client.get("/fleet.csv").streaming_content).decode(),
        "pages": {path: client.get(path, follow=True).status_code for path in (*PAGES, *pages_of_rows())},
        "tables": tables,
        "secret": SECRET in astuple(Cluster.objects.get(name="secretive").source().auth),
        "restarts": Manifest.objects.filter(restarted__isnull=False).count(),
        "signs_in": Client(HTTP_HOST="localhost").login(username="ada", password=SECRET),
    }


if __name__ == "__main__":
    told: dict[str, Any] = {}
    for step in sys.argv[1:]:
        verb, _, what = step.partition("=")
        if verb == "live":
            live()
        elif verb == "take":
            take(*what.split(":"))
        elif verb == "see":
            told[what] = seen()
        elif verb == "work":
            call_command("run_pipeline", "--json")
        elif verb == "copy_database":
            with sqlite3.connect(what) as copy:
                connection.ensure_connection()
                connection.connection.backup(copy)
        elif verb == "hold":
            hold_a_load(Path(what))
        else:
            call_command(verb, *what.split()) if what else call_command(verb)
    print("\n" + json.dumps(told, default=str))
