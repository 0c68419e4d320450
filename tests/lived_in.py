"""One process of a story: ``python -m tests.lived_in STEP…``; prints what people and machines see
at its end, as JSON.
"""

import json
import sys
from dataclasses import astuple
from typing import Any

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 - after Django
from django.core.management import call_command  # noqa: E402 - after Django
from django.test import Client  # noqa: E402 - after Django

from ingest.replay.shipped import recordings  # noqa: E402 - after Django
from webapp.accounts.models import ApiToken  # noqa: E402 - after Django
from webapp.fleet.models import Cluster  # noqa: E402 - after Django
from webapp.fleet.sign_ins import JOBMANAGER  # noqa: E402 - after Django
from webapp.work.models import Manifest  # noqa: E402 - after Django

SECRET = "hunter2-hunter2"


def live() -> None:
    user = get_user_model().objects.create_superuser("ada", password=SECRET)
    ApiToken.objects.issue(user, "machine")
    cluster = Cluster(
        name="secretive", url="http://127.0.0.1:9", enabled=False, auth_scheme="bearer"
    )
    JOBMANAGER.store(cluster, SECRET)
    cluster.save()
    take("1.20.5/E", "case")


def take(recording: str, name: str) -> None:
    call_command("import_recording", str(recordings() / recording), "--cluster", name, verbosity=0)
    call_command("run_pipeline", "--json")


def seen() -> dict[str, Any]:
    client = Client(HTTP_HOST="localhost")
    client.force_login(get_user_model().objects.get(username="ada"))
    return {
        "checkpoints": client.get("/api/v1/checkpoints/").json()["results"],
        "fleet": b"".join(client.get("/fleet.csv").streaming_content).decode(),
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
    print("\n" + json.dumps(told, default=str))
