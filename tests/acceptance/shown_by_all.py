"""``python -m tests.acceptance.shown_by_all``: what pages, API, exports, commands and reports of a
home show of every job.

Prints one JSON document a job, for :mod:`tests.acceptance.test_shown`; figures are as they are
shown, texts where they are texts.
"""

import csv
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import django

_CHECKPOINT = re.compile(r"/checkpoints/(\d+)/(\d+)/")


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    django.setup()
    from django.test import Client

    from webapp.accounts.models import User
    from webapp.fleet.models import JobCurrent

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get_or_create(username="reader-of-all")[0])
    commanded = _lines("checkpoints")
    for cluster, job_id in JobCurrent.objects.order_by("cluster", "job_id").values_list(
        "cluster", "job_id"
    ):
        base = f"/jobs/{cluster}/{job_id}/"
        told = {
            "cluster": cluster,
            "job_id": job_id,
            **_pages(client, base),
            "api_job": _get(client, f"/api/v1{base}").json(),
            **{
                f"api_{name}": _listed(client, f"/api/v1/{name}/?cluster={cluster}&job_id={job_id}")
                for name in ("checkpoints", "annotations")
            },
            "export": _downloaded(client, f"{base}checkpoints.csv"),
            "command": [
                one for one in commanded if (one["cluster"], one["job_id"]) == (cluster, job_id)
            ],
            **_report(cluster, job_id),
        }
        print(json.dumps(told, ensure_ascii=False))
    return 0


def _get(client: Any, address: str) -> Any:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer


def _downloaded(client: Any, address: str) -> list[dict[str, Any]]:
    """Numbers and truth as such again; an empty cell is None."""
    body = b"".join(_get(client, address).streaming_content).decode()
    values = {"": None, "True": True, "False": False}
    return [
        {
            name: int(cell) if cell.isdecimal() else values.get(cell, cell)
            for name, cell in row.items()
        }
        for row in csv.DictReader(io.StringIO(body))
    ]


def _pages(client: Any, base: str) -> dict[str, Any]:
    """The job page, turned to its last page of checkpoints, and the page of each of them."""
    from tests.acceptance.page_figures import PageFigures

    address, first, rows, checkpoints = base, None, [], {}
    while address:
        page = PageFigures(_get(client, address).content.decode())
        first = first or page
        keys = [match.groups() for link in page.links if (match := _CHECKPOINT.search(link))]
        table = page.tables.get("All checkpoints", [[]])
        rows += [[*key, *row] for key, row in zip(keys, table[1:], strict=True)]
        for number, trigger in keys:
            one = PageFigures(
                _get(client, f"{base}checkpoints/{number}/{trigger}/").content.decode()
            )
            checkpoints[f"{number}/{trigger}"] = {
                "title": one.title,
                "kpis": one.kpis,
                "tables": one.tables,
            }
        older = [
            link
            for link in page.links
            if "checkpoints=" in link and link.endswith("#checkpoints") and "outcome=" not in link
        ]
        address = (
            base + older[-1].partition("#")[0]
            if older and len(table) == 21 and address != base + older[-1].partition("#")[0]
            else ""
        )
    assert first is not None
    runtime = PageFigures(_get(client, f"{base}?tab=runtime").content.decode())
    return {
        "kpis": first.kpis,
        "terms": first.terms | runtime.terms,
        "tables": first.tables | runtime.tables,
        "rows": rows,
        "head": table[0],
        "checkpoints": checkpoints,
    }


def _listed(client: Any, address: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while address:
        body = _get(client, address).json()
        found += body["results"]
        address = body["next"] or ""
    return found


def _lines(*command: str, **options: Any) -> list[dict[str, Any]]:
    from django.core.management import call_command

    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def _report(cluster: str, job_id: str) -> dict[str, Any]:
    from tests.acceptance.page_figures import PageFigures

    with tempfile.TemporaryDirectory() as folder:
        _lines(
            "incident_report",
            cluster=[cluster],
            job=[job_id],
            out=Path(folder),
            json=True,
        )
        made = {path.suffix: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
    page = PageFigures(made[".html"])
    return {
        "report": json.loads(made[".json"]),
        "report_page": {"terms": page.terms, "facts": page.facts, "tables": page.tables},
    }


if __name__ == "__main__":
    sys.exit(main())
