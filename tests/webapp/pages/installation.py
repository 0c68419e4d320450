"""An installation where all is well, with something on every page; and what each of its pages and
API answers claims.
"""

import html
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.test import Client

from tests.attacks.places import Place, answered, places
from tests.webapp.builders import GRAPH, cluster, fact, finding, job, window
from tests.webapp.cleanup import stored
from tests.webapp.delivery.builders import delivery, endpoint, notice
from webapp.alerting.evaluation import evaluate
from webapp.delivery.models import Attempt
from webapp.findings.models import JobJudgement
from webapp.fleet.models import JobCurrent
from webapp.fleet.pipeline_status import alarms
from webapp.lib.scoped_rows import JobKey
from webapp.reports import orders as reports
from webapp.reports import work_keys
from webapp.reports.report_scope import checked
from webapp.storage.models import RootFigures, StorageAudit
from webapp.work import keys
from webapp.work.models import DueWork, Heartbeat, PipelineRun
from webapp.work.perform import perform

GREEN = re.compile(r'class="(?:[^"]* )?ok(?: [^"]*)?"|●')
NO_CLAIM = re.compile(
    # not shown before it is opened; what a filter could show
    r"<dialog.*?</dialog>|<select.*?</select>"
    # a tile of the fleet that counts none
    r'|<a class="panel kpi ok"[^>]*><span>[^<]*</span><b class="tone">● 0</b>'
    r'|class="chip (?:warn|crit|done|unknown)"[^>]*>● '
    r"|● completed ✕ failed"  # the legend of a chart
    # the legend of a time line, whose moments have their times
    r"|✕ bad, ◆ trouble, ● good, ■ fact",
    re.S,
)
HAPPENED = re.compile(
    r'<(\w+)[^>]*class="[^"]*\bok\b[^"]*"[^>]*>● (?:completed|delivered|done|\d+ taken)</\1>'
)
"""What happened at an instant that stands beside it is no claim of what is so now."""
OF_ITS_OWN_TIME = {
    "report",
    "report-open",
    "report-download",
    "reports",
    "api-reports-file",
    "storage-xray",
    "missing-file",
    "checkpoint",
}
"""Documents of a past range; a file that is read while the page is made; a checkpoint that is
over.
"""
LEFT_OUT = ("export", "/sign-", "readyz", "metrics", "schema", "docs")
"""What shows no state of a job, and what probes are meant to answer with an error."""
LEAST_READ = {
    "fleet",
    "job",
    "checkpoint",
    "findings",
    "finding",
    "alerts",
    "alert",
    "storage",
    "storage-root",
    "storage-xray",
    "storage-files",
    "cleanup-plans",
    "cleanup-plan",
    "reports",
    "report",
    "endpoints",
    "endpoint",
    "deliveries",
    "delivery",
    "pipeline",
    "pipeline-run",
    "clusters",
    "silences",
    "alert-settings",
    "rules",
}
"""Pages that have to be among those that were read, so that the walk never becomes a short one
unnoticed.
"""


def covered(of: JobCurrent, first: datetime, last: datetime) -> JobJudgement:
    runs = [{"first": int(first.timestamp()) // 60 * 60, "last": int(last.timestamp()) // 60 * 60}]
    return JobJudgement.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        judged_to=last,
        windows=runs,
        covered=runs,
        unknowns=[],
        as_of=last,
    )


def fleet_of_two(at: datetime) -> dict[str, JobCurrent]:
    """Two healthy jobs on a cluster that answers, one of them with an alert that fires; the
    pipeline runs.
    """
    cluster("prod", at=at)
    calm, troubled = job("prod", at=at, name="calm"), job("prod", at=at, name="troubled", health=60)
    for of in (calm, troubled):
        covered(of, at - timedelta(hours=80), at)
        for vertex in GRAPH["vertices"]:
            window(
                of,
                vertex["vertex_id"],
                at - timedelta(minutes=1),
                backpressured_share=0.0,
                backpressured_ms_per_s_p50=0.0,
            )
    finding(troubled, at=at)
    for key in (keys.CYCLE, "collect/0"):
        DueWork.objects.create(
            key=key, interval_s=10, next_attempt_at=at, last_success_at=at, last_started_at=at
        )
    Heartbeat.objects.create(name=alarms.TICK, at=at)
    evaluate(at)
    return {"calm": calm, "troubled": troubled}


def furnish(fleet: dict[str, JobCurrent], folder: Path, at: datetime) -> None:
    """A checkpoint, a root that can be cleaned with its plan, a report, and an endpoint that a
    notice was delivered to.
    """
    of = fleet["calm"]
    fact(of, 1, at)
    stored.planned(folder)
    StorageAudit.objects.update(as_of=at)
    RootFigures.objects.update(as_of=at)
    report = reports.request_report(
        checked([JobKey(of.cluster, of.job_id)], at - timedelta(hours=1), at),
        user=None,
        name="olga",
        at=at,
    )
    perform(work_keys.key_of(report.pk), even_if_not_due=True)
    told = delivery(endpoint(last_delivered_at=at), notice(made_at=at), state="delivered")
    Attempt.objects.create(delivery=told, number=1, at=at, status=200, latency_ms=3)
    PipelineRun.objects.create(
        kind="spark", key=keys.CYCLE, attempt="a", started_at=at, state="done"
    )


def answers(client: Client, *, api: bool = False) -> Iterator[tuple[Place, Any]]:
    """What each page, or address of the API, says that can be read; nothing comes from the cache."""
    among = (
        one
        for one in places()
        if one.is_api == api and not any(part in one.template for part in LEFT_OUT)
    )
    return answered(client, among)


def pages(client: Client) -> dict[str, str]:
    """The text of each page by its name; fragments that htmx fetches are pages without a header."""
    found = {}
    for place, answer in answers(client):
        assert answer.status_code < 500, place.label
        if (
            answer.status_code == 200
            and not answer.streaming
            and "html" in answer.get("Content-Type", "")
        ):
            found[place.label] = html.unescape(answer.content.decode())
    assert set(found) >= LEAST_READ, LEAST_READ - set(found)
    return found


def whole(texts: dict[str, str]) -> dict[str, str]:
    """Those with a header; not what is downloaded."""
    return {name: text for name, text in texts.items() if '<div id="state-of-data"' in text}


def claims(texts: dict[str, str]) -> dict[str, list[str]]:
    """What each page shows as well now."""
    found = {}
    for name, text in texts.items():
        bare = HAPPENED.sub("", NO_CLAIM.sub("", text))
        green = [
            bare[max(match.start() - 60, 0) : match.end() + 60].replace("\n", " ")
            for match in GREEN.finditer(bare)
        ]
        if green and name not in OF_ITS_OWN_TIME:
            found[name] = green
    return found
