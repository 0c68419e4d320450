"""Each source is taken away, and then every page and API answer there is is read: nothing shows as
well what nobody knows.

The pages are walked by their addresses, so that a new page is read by itself.
"""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from tests.attacks.full_disk import disk
from tests.attacks.inhabited import token_of
from tests.webapp.builders import person
from tests.webapp.pages.installation import answers, claims, fleet_of_two, furnish, pages, whole
from tests.weir_settings import WeirSettings
from webapp.alerting.models import Alert
from webapp.findings import unreachable_clusters
from webapp.findings.models import JobJudgement
from webapp.fleet.freshness import allowed
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.models import RootFigures
from webapp.work import keys
from webapp.work.models import DueWork, Heartbeat
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db

LATE = allowed() + timedelta(minutes=10)
CLUSTERS = ("clusters", "cluster")
LOGS = Path(__file__).parents[2] / "fixtures" / "recordings" / "1.20.5" / "B" / "logs"
STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})", re.M)
TRIGGERED = re.compile(r"(?<=@ )\d{13}")
FORM = "%Y-%m-%d %H:%M:%S,%f"
NOBODY_LISTENS = "http://127.0.0.1:9"


@pytest.fixture
def at() -> datetime:
    return timezone.now().replace(microsecond=0)


@pytest.fixture
def jobs(db: None, at: datetime, home: Path, weir: WeirSettings) -> dict[str, JobCurrent]:
    found = fleet_of_two(at)
    furnish(found, home, at)
    return found


def late(at: datetime) -> None:
    """Nothing was judged for so long that the last of it is no longer the present."""
    JobCurrent.objects.update(
        judged_at=at - LATE, last_seen_at=at - LATE, last_completed_at=at - LATE
    )
    JobJudgement.objects.update(judged_to=at - LATE)
    DueWork.objects.filter(key=keys.CYCLE).update(last_success_at=at - LATE)


def everything_stands(at: datetime) -> None:
    """Nothing is scheduled, asked or judged any more."""
    late(at)
    Heartbeat.objects.update(at=at - LATE)
    DueWork.objects.update(last_success_at=at - LATE, next_attempt_at=at - LATE)
    Cluster.objects.update(last_success_at=at - LATE, last_collected_at=at - LATE)


@contextmanager
def read_only() -> Iterator[None]:
    on, off = ("PRAGMA query_only = ON", "PRAGMA query_only = OFF")
    if connection.vendor == "postgresql":
        on, off = ("SET transaction_read_only = on", "SET transaction_read_only = off")
    with connection.cursor() as cursor:
        cursor.execute(on)
        try:
            yield
        finally:
            cursor.execute(off)


def says(texts: dict[str, str], words: str) -> None:
    assert [name for name, text in whole(texts).items() if words not in text] == []


def test_where_all_is_well_pages_say_so(operator: Client, jobs: dict[str, JobCurrent]) -> None:
    texts = pages(operator)
    green = claims(texts)
    assert set(green) >= {
        "fleet",
        "job",
        "clusters",
        "pipeline",
        "storage",
        "storage-root",
        "endpoints",
        "endpoint",
    }
    assert "Late data" not in "".join(whole(texts).values())


@pytest.mark.long
def test_a_dead_spark_leaves_nothing_green(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime
) -> None:
    late(at)
    texts = pages(operator)
    # Clusters do answer, and pages say only that.
    assert {name: green for name, green in claims(texts).items() if name not in CLUSTERS} == {}
    says(texts, f"judged up to {at - LATE:%Y-%m-%d %H:%M:%S} UTC (13 min ago)")


def test_a_silent_jobmanager_leaves_nothing_green(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime
) -> None:
    late(at)
    Cluster.objects.update(
        last_success_at=at - LATE,
        unreachable_since=at - timedelta(minutes=5),
        last_error="connection refused",
    )
    unreachable_clusters.watch(at)
    texts = pages(operator)
    assert claims(texts) == {}
    says(texts, "1 cluster did not answer")


@pytest.mark.long
def test_a_removed_cluster_leaves_none_of_its_jobs_green(
    operator: Client, jobs: dict[str, JobCurrent]
) -> None:
    Cluster.objects.get().delete()
    green = claims(pages(operator))
    # Storage, endpoints and Weir itself are as well as before.
    assert set(green) <= {
        "storage",
        "storage-root",
        "endpoints",
        "endpoint",
        "pipeline",
    }


def test_the_api_gives_no_health_where_nobody_can_know_it(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime
) -> None:
    rows = operator.get("/api/v1/jobs/").json()["results"]
    assert {(row["status"], row["health_state"]) for row in rows} == {("RUNNING", "judged")}
    everything_stands(at)
    rows = operator.get("/api/v1/jobs/").json()["results"]
    assert {(row["status"], row["health_state"], row["health"]) for row in rows} == {
        ("UNKNOWN", "unknown", None)
    }
    assert {row["visibility"] for row in operator.get("/api/v1/clusters/").json()["results"]} == {
        "unreachable"
    }
    # Whatever else is called good says of when it is.
    for place, answer in answers(operator, api=True):
        if (
            answer.status_code == 200
            and "json" in answer.get("Content-Type", "")
            and not answer.streaming
        ):
            listed = answer.json()
            for row in listed.get("results", [listed]) if isinstance(listed, dict) else []:
                assert not row.get("cleanable") or row["as_of"], place.label


def test_an_old_audit_is_not_shown_as_the_present(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime
) -> None:
    figures = RootFigures.objects.get()
    root = f"/storage/root/?uri={figures.root}"
    assert "● can be cleaned" in operator.get(root).content.decode()
    RootFigures.objects.update(as_of=at - timedelta(hours=3 * settings.WEIR.storage_audit_h + 1))
    page = operator.get(root).content.decode()
    assert (
        "? can be cleaned" in page
        and "Late audit" in page
        and "●" not in re.sub(r"<header.*?</header>", "", page, flags=re.S)
    )


def test_a_read_only_database_is_said_and_breaks_no_page(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime
) -> None:
    everything_stands(at)
    assert "is the beat running" in operator.get("/").content.decode()
    alert = Alert.objects.get()
    token = token_of(person("robot"), "read")
    with read_only():
        texts = pages(operator)
        assert claims(texts) == {}
        says(texts, "The database is read-only")
        assert [
            place.label
            for place, answer in answers(operator, api=True)
            if answer.status_code >= 500
        ] == []
        by_token = Client().get("/api/v1/jobs/", headers={"Authorization": f"Bearer {token}"})
        assert by_token.status_code == 200
        refused_in_words(operator, alert, "The database is read-only.")
    alert.refresh_from_db()
    assert alert.acknowledged_at is None


@pytest.mark.long
def test_a_database_that_cannot_grow_says_that_its_disk_is_full(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no limit that one connection can set")
    everything_stands(at)
    with connection.cursor() as cursor:
        fill_free_pages(cursor)
        cursor.execute("PRAGMA page_count")
        pages_now = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages_now}")
        try:
            assert claims(pages(operator)) == {}
            operator.raise_request_exception = False
            fields = {"label": "cluster", "operator": "=", "value": "prod"}
            body = {
                "matchers": [fields],
                "reason": "x" * 400,
                "starts_at": at.isoformat(),
                "ends_at": (at + timedelta(hours=1)).isoformat(),
            }
            full = refused_until(operator, body)
            assert full is not None and full.json()["error"]["message"].startswith(
                "The disk of the database is full."
            )
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")


def fill_free_pages(cursor: Any) -> None:
    """Rows that earlier tests deleted left pages free: thousands of new rows would fit before the
    file has to grow.
    """
    cursor.execute("PRAGMA freelist_count")
    free_pages = cursor.fetchone()[0]
    cursor.execute("PRAGMA page_size")
    page_bytes = cursor.fetchone()[0]
    cursor.execute("CREATE TABLE filler (content BLOB)")
    cursor.execute("INSERT INTO filler VALUES (zeroblob(%s))", [free_pages * page_bytes])
    cursor.execute("PRAGMA freelist_count")
    assert cursor.fetchone()[0] == 0


def refused_until(client: Client, body: dict[str, object]) -> Any:
    """Pages of the database that have room left take some rows before the first that needs another
    page.
    """
    for _ in range(200):
        with transaction.atomic():
            answer = client.post("/api/v1/silences/", body, content_type="application/json")
        if answer.status_code == 503:
            return answer
        assert answer.status_code == 201, answer.content
    return None


def refused_in_words(client: Client, alert: Alert, why: str) -> None:
    """Forms and the API answer 503 with the reason, and nothing is changed."""
    client.raise_request_exception = False
    for path, kind, body in (
        ("/alerts/acknowledge", "html", {"alert": alert.uid, "uid": alert.uid}),
        (f"/api/v1/alerts/{alert.uid}/acknowledge/", "json", {"comment": "mine"}),
    ):
        with transaction.atomic():
            answer = client.post(
                path, body, **({"content_type": "application/json"} if kind == "json" else {})
            )
        assert answer.status_code == 503, (path, answer.status_code)
        assert (
            why in answer.content.decode()
            and kind in answer["Content-Type"]
            and answer["Retry-After"]
        )


@pytest.mark.long
def test_a_full_disk_is_said_on_every_page(
    operator: Client, jobs: dict[str, JobCurrent], at: datetime, tmp_path: Path, weir: WeirSettings
) -> None:
    everything_stands(at)
    failed = {"failures": 3, "last_error": "OSError: No space left on device"}
    DueWork.objects.filter(key="collect/0").update(**failed)
    with disk(tmp_path / "small") as small:
        if not small.is_mounted:
            pytest.skip(
                "without a disk of its own none can be filled: mounting is not allowed here"
            )
        weir(lake_root=str(small.path))
        with small.full():
            texts = pages(operator)
            assert claims(texts) == {}
            says(texts, f"The disk of {small.path} is full")
            assert "No space left on device" in texts["pipeline"]


@pytest.mark.parametrize("part", [0.5, 1], ids=["running", "ended"])
def test_jobs_of_which_only_logs_are_known_are_never_green(
    operator: Client, db: None, home: Path, part: float
) -> None:
    """A real Flink's logs, as if written now; its JobManager's REST address has never answered."""
    as_if_now(LOGS, home / "logs", part)
    Cluster.objects.create(
        name="prod", url=NOBODY_LISTENS, log_globs=[str(home / "logs" / "*.log")]
    )
    for key in ("collect/0", keys.CYCLE):
        DueWork.objects.ensure({key: 10}, timezone.now())
        perform(key, even_if_not_due=True)
    found = JobCurrent.objects.get()
    assert found.terminal == (part == 1)
    assert found.judged_at is not None and timezone.now() - found.judged_at < timedelta(minutes=3)
    address = f"/jobs/prod/{found.job_id}/"
    texts = {
        path: operator.get(path).content.decode()
        for path in ("/", address, "/clusters/", "/findings/", "/alerts/", "/pipeline/")
    }
    assert claims({path: text for path, text in texts.items() if path != "/pipeline/"}) == {}
    says(texts, "1 cluster did not answer")
    of_its_end = operator.get(
        f"{address}?from={found.judged_at - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}"
    ).content.decode()
    assert claims({"of its end": of_its_end}) == {}
    if not found.terminal:
        row = operator.get("/api/v1/jobs/").json()["results"][0]
        assert (row["status"], row["health"]) == ("UNKNOWN", None)


def as_if_now(logs: Path, folder: Path, part: float) -> None:
    """Copies of this part of their time, in half of which the job still runs; the last line is of
    this moment.
    """
    folder.mkdir()
    texts = {path.name: path.read_text() for path in logs.glob("*.log")}
    stamps = sorted(instant(found) for text in texts.values() for found in STAMP.findall(text))
    until = stamps[0] + (stamps[-1] - stamps[0]) * part
    shift = datetime.now(UTC) - until
    for name, text in texts.items():
        kept = list(
            itertools.takewhile(
                lambda line: not (found := STAMP.match(line)) or instant(found[1]) <= until,
                text.splitlines(),
            )
        )
        moved = STAMP.sub(
            lambda match: (instant(match[1]) + shift).strftime(FORM)[:-3], "\n".join(kept)
        )
        moved = TRIGGERED.sub(
            lambda match: str(int(match[0]) + round(shift.total_seconds() * 1000)), moved
        )
        (folder / name).write_text(moved + "\n")


def instant(stamp: str) -> datetime:
    return datetime.strptime(stamp, FORM).replace(tzinfo=UTC)
