"""At ten instants of a recording, as it happened, every door tells one story of its jobs: fleet
page, job page, API, export, report, hosts, alerts, incidents and notices.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from ingest.recordings.importer import Recording
from ingest.records import Observed
from ingest.replay.shipped import SHIPPED
from spark_jobs.diagnosis.health import health_of
from spark_jobs.serving import TASKMANAGER_LOSSES
from tests.acceptance.page_figures import PageFigures
from tests.webapp.builders import cluster, person
from tests.webapp.delivery.builders import endpoint
from tests.webapp.reports.stories import facts, parts, rows
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.delivery.models import Delivery
from webapp.delivery.notices import Notice
from webapp.fleet.models import Cluster
from webapp.lib.scoped_rows import JobKey
from webapp.reports.document import Report
from webapp.reports.gathering.incident import gather
from webapp.reports.report_scope import SHORTEST, checked
from webapp.work.lake import lake

pytestmark = pytest.mark.django_db(transaction=True)
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
Row = dict[str, Any]


@pytest.mark.parametrize(
    ("recording", "instants"),
    [
        ("recordings/1.20.5/I", 3),  # a TaskManager killed, restarts
        ("recordings/1.20.5/E", 2),  # declined, then cancelled
        *(
            pytest.param(recording, 10, marks=pytest.mark.long)
            for recording in (
                *(f"recordings/{shipped.recording}" for shipped in SHIPPED),
                "incidents/2.3.0/expired",
                "incidents/2.3.0/killed",
            )
        ),
    ],
)
def test_every_door_tells_one_story_at_each_instant(
    recording: str, instants: int, home: Path
) -> None:
    contradictions: list[str] = []
    began_at: dict[Any, str] = {}
    steps = _as_it_happened(recording, instants)
    with time_machine.travel(steps[0][0], tick=False) as clock:
        cluster("played", at=steps[0][0])
        endpoint()
        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(person("ada"))
        for at, observed in steps:
            clock.move_to(at)
            cache.clear()
            Cluster.objects.update(last_collected_at=at, last_success_at=at)
            if observed:
                lake().append(observed)
            call_command("run_pipeline", verbosity=0)
            evaluate(at)
            doors = Doors(client, at)
            told = [*_of_hosts(doors), *_of_notices(doors)]
            contradictions += [f"{at:%H:%M:%S}: {words}" for words in told]
            for job in doors.listed("jobs"):
                found = [*_of_job(doors, job), *_later(doors, job, began_at)]
                contradictions += [f"{at:%H:%M:%S} {job['name']}: {words}" for words in found]
    assert not contradictions, "\n".join(contradictions)
    notified = Delivery.objects.filter(made_at__in=[at for at, _ in steps]).exists()
    assert notified or not Alert.objects.exclude(state="pending").exists()


def _as_it_happened(recording: str, instants: int) -> list[tuple[datetime, list[Observed]]]:
    """Steps of equal length: their ends, and what was observed in each."""
    read = Recording(FIXTURES / recording, "played", "UTC", "flink").read(lambda _words: None)
    rows = sorted((one for piece, _bytes in read for one in piece), key=lambda one: one.observed_at)
    first, length = rows[0].observed_at, rows[-1].observed_at - rows[0].observed_at
    ends = [first + length * number / instants for number in range(1, instants + 1)]
    steps: list[tuple[datetime, list[Observed]]] = [(end, []) for end in ends]
    for row in rows:
        next(own for end, own in steps if row.observed_at <= end).append(row)
    return steps


@dataclass
class Doors:
    """What a reader gets at one instant."""

    client: Client
    at: datetime

    def listed(self, name: str, **query: str) -> list[Row]:
        return self.page(f"/api/v1/{name}/", query).json()["results"]

    def page(self, address: str, query: dict[str, str] | None = None) -> Any:
        answer = self.client.get(address, query or {})
        assert answer.status_code == 200, (address, answer.status_code)
        return answer

    def downloaded(self, address: str, query: dict[str, str] | None = None) -> list[Row]:
        text = b"".join(self.page(address, query).streaming_content).decode()
        return list(csv.DictReader(io.StringIO(text)))

    @property
    def last_hour(self) -> dict[str, str]:
        since = self.at - timedelta(hours=1)
        return {"from": since.isoformat(), "to": self.at.isoformat()}

    def report(
        self, job: Row, start: datetime | None = None, end: datetime | None = None
    ) -> Report:
        key, since = JobKey(job["cluster"], job["job_id"]), self.at - timedelta(hours=1)
        scope = checked([key], start or since, end or self.at)
        return gather(scope, uid="r", made_at=self.at, made_by="ada")


def _of_job(doors: Doors, job: Row) -> Iterator[str]:
    of_job = {"cluster": job["cluster"], "job_id": job["job_id"]}
    address = f"/jobs/{job['cluster']}/{job['job_id']}/"
    page, one = doors.page(address), doors.page(f"/api/v1{address}").json()
    # Those that ended are a list of their own as long as any other runs.
    asked = {"health": "ended"} if job["terminal"] else {}
    (in_fleet,) = [
        row for row, *_ in doors.page("/", asked).context["rows"] if row.job_id == one["job_id"]
    ]
    (exported,) = [
        row for row in doors.downloaded("/fleet.csv", asked) if row["job_id"] == one["job_id"]
    ]
    shown, report = page.context["findings"], doors.report(job)
    (of_report,) = [one.document for one in parts(report, f"job-{job['job_id']}")]
    found = [facts(one.document) for one in parts(report, "finding-")]
    findings = doors.listed("findings", state="open", **of_job)

    yield from _different(
        "health",
        list=job["health"],
        job=one["health"],
        fleet=in_fleet.health,
        page=page.context["job"].health,
        export=int(exported["health"]) if exported["health"] else None,
        findings=health_of(shown.all_open).value if job["health"] is not None else None,
    )
    presented = [row.finding for row in (*shown.current, *shown.context)]
    yield from _different(
        "open findings",
        api={(row["rule"], row["subject_id"]) for row in findings},
        page={(row.rule, row.subject_id) for row in presented if row.state == "open"},
    )
    yield from _different(
        "open rules",
        api={row["rule"] for row in findings},
        report={row["rule"] for row in found if row["is_open"]},
    )
    if job["restarts"] is not None:
        yield from _different(
            "restarts",
            list=job["restarts"],
            job=one["restarts"],
            page=int(PageFigures(page.content.decode()).kpis["Restarts"][0]),
            export=int(exported["restarts"]),
        )
    runtime = doors.page(address, {"tab": "runtime", **doors.last_hour})
    yield from _different(
        "failures",
        api=len(doors.listed("exceptions", **of_job)),
        **(
            {}
            if runtime.context["more_exceptions"]
            else {"page": len(runtime.context["exceptions"])}
        ),
        report=sum(row["count"] for row in rows(of_report, "exceptions")),
    )
    yield from _alerts(doors, of_job, findings)
    for row in doors.listed("incidents", **of_job):
        yield from _of_incident(doors, job, row)


def _of_incident(doors: Doors, job: Row, incident: Row) -> Iterator[str]:
    """What it cost, in words, against the report of its time."""
    began, ended = (
        datetime.fromisoformat(text) if text else doors.at
        for text in (incident["began_at"], incident["ended_at"])
    )
    if ended - began < SHORTEST:
        return
    page = doors.page(f"/incidents/{incident['uid']}/")
    cost = page.context["cost"]
    pages = facts(doors.report(job, began, ended).pages)
    failed = [words.split(" of ")[0] for words in cost if "known checkpoint" in words]
    restarts = [words.split(" restart")[0] for words in cost if " restart" in words]
    yield from _different(
        "failed checkpoints of an incident",
        incident=int(failed[0]) if failed else 0,
        report=pages["checkpoints_failed"],
    )
    yield from _different(
        "restarts of an incident",
        incident=int(restarts[0]) if restarts else 0,
        report=pages["restarts"],
    )


def _alerts(doors: Doors, of_job: dict[str, str], findings: list[Row]) -> Iterator[str]:
    """What fires has an open finding of the same words, and what is open an alert."""
    open_findings = {(row["rule"], row["subject_id"]): row for row in findings}
    alerts = {(row["rule"], row["subject_id"]): row for row in doors.listed("alerts", **of_job)}
    incidents = [row for row in doors.listed("incidents", **of_job) if row["state"] == "open"]
    alerting = {key for key, row in open_findings.items() if row["severity"] != "info"}
    yield from _different(
        "what fires",
        findings=alerting,
        alerts={
            key
            for key, row in alerts.items()
            if row["state"] in ("firing", "pending") and not row["quiet_since"]
        },
    )
    for key in alerting & alerts.keys():
        for name in ("title", "severity", "cause", "next_step"):
            yield from _different(
                f"{name} of {key}", finding=open_findings[key][name], alert=alerts[key][name]
            )
    yield from _different("an open incident", findings=bool(alerting), incidents=bool(incidents))


def _of_hosts(doors: Doors) -> Iterator[str]:
    """Lost TaskManagers: the list of hosts, the page of each, and the lives that the API lists."""
    since = doors.last_hour
    hosts = doors.page("/hosts/", since).context["page"]
    lives = doors.listed("taskmanager-lives", cluster="played")
    ends = [job["end_time"] for job in doors.listed("jobs")]
    lost = Counter(
        life["host"]
        for life in lives
        if life["ended_by"] in TASKMANAGER_LOSSES
        # One that shuts down after all jobs have ended does so in order.
        and not (
            life["ended_by"] == "shut_down" and all(end and end < life["ended_at"] for end in ends)
        )
    )
    for host in hosts:
        address = f"/hosts/{host.host}/"
        page = doors.page(address, since).context
        taskmanagers = doors.page(f"{address}taskmanagers", since).context["taskmanagers"].rows
        yield from _different(
            f"failures on {host.host}", list=host.failures, page=page["counts"]["failures"]
        )
        yield from _different(
            f"losses on {host.host}",
            list=host.losses,
            host=page["counts"]["losses"],
            lives=lost[host.host],
            taskmanagers=sum(bool(row.lost_at) for row in taskmanagers),
        )


def _of_notices(doors: Doors) -> Iterator[str]:
    """What a notice of this instant says fires is what the alert says."""
    alerts = {row["uid"]: row for row in doors.listed("alerts")}
    for delivery in Delivery.objects.filter(made_at=doors.at):
        for told in Notice.from_json(delivery.payload).alerts:
            for name in ("title", "cause", "next_step", "severity"):
                yield from _different(
                    f"{name} of {told.rule}",
                    notice=getattr(told, name),
                    alert=alerts[told.uid][name],
                )


def _later(doors: Doors, job: Row, began_at: dict[Any, str]) -> Iterator[str]:
    """What began has begun: a beginning may turn out to be earlier, never later."""
    for name, column in (("findings", "first_seen"), ("alerts", "starts_at")):
        for row in doors.listed(name, cluster=job["cluster"], job_id=job["job_id"]):
            yield from _not_later(began_at, (name, row.get("id") or row["uid"]), row[column])
    for row in doors.listed("incidents", cluster=job["cluster"], job_id=job["job_id"]):
        yield from _not_later(began_at, ("incidents", row["uid"]), row["began_at"])


def _not_later(began_at: dict[Any, str], key: Any, instant: str) -> Iterator[str]:
    if instant > began_at.get(key, instant):
        yield f"{key} began {began_at[key]}, now {instant}"
    began_at[key] = instant


def _different(what: str, **by_door: Any) -> Iterable[str]:
    values = list(by_door.values())
    return [] if all(value == values[0] for value in values) else [f"{what}: {by_door}"]
