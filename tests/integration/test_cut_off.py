"""Redis, the database, Spark and a cluster are cut off in turn from a running Weir that watches a
real Flink.

Meanwhile a job begins to lose checkpoints, and pages are asked. Each time Weir has to name the
cause once all is back, and tell of it; in the end what it knows is compared with the raw log of the
JobManager: nothing is missing, and nothing is told twice.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pgserver
import psycopg
import pytest

from tests.integration.raw_checkpoints import RawCheckpoints, raw_checkpoints
from tests.integration.running import ASK_AGAIN_S, RunningWeir, until
from tests.integration.test_disturbed import LOOPBACK, told_by
from tests.lab.cluster import Lab, start
from tests.lab.rest import call_or_none
from tests.postgresql import NOT_FOR_POWER_CUTS, killed, migrated_database, postgresql, stopped
from tests.process_trees import frozen
from tests.webapp.delivery.receiver import Receiver, receiving

pytestmark = [pytest.mark.integration, pytest.mark.long]

CLUSTER = "cut-off"
RULE = "checkpoint.declined"
ANSWERED_WITHIN_S = 10
"""Two seconds are the budget where nothing else computes. Here Flink, Spark and whoever tests
beside share the processors; what waits for a part that is away waits for a time-out of half a
minute and more, or for ever.
"""
DECLINES_MEANWHILE = 2
COORDINATOR_BYTES = 16
"""What the log counts and REST leaves out: which splits the coordinator of the source has given
out.
"""
BACK_WITHIN_S = 420
AWAY = "The database does not answer"
PAGES = ("/", "/findings/", "/alerts/", "/storage/", "/pipeline/")
SETTINGS = {
    "WEIR_DEMO": "false",
    "WEIR_COLLECT_INTERVAL_S": "3",
    "WEIR_SPARK_INTERVAL_S": "5",
    "WEIR_MOST_ROWS_WITHOUT_SPARK": "0",
    "WEIR_ALERT_GROUP_WAIT_S": "2",
    **LOOPBACK,
}


@dataclass(frozen=True)
class Page:
    path: str
    status: int
    took_s: float
    text: str


@dataclass
class Story:
    """What was seen while each part was away, by part, and at the end. ``jobs``: name by id."""

    pages: dict[str, list[Page]] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    raw: dict[str, RawCheckpoints] = field(default_factory=dict)
    facts: dict[str, dict[int, tuple[str, int | None]]] = field(default_factory=dict)
    """Job id → checkpoint → outcome and bytes that were persisted."""
    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    told: list[tuple[Any, ...]] = field(default_factory=list)


class Watched:
    """A Flink, the Weir that watches it, its database, and whoever it tells."""

    def __init__(
        self,
        lab: Lab,
        weir: RunningWeir,
        database: pgserver.PostgresServer,
        url: str,
        receiver: Receiver,
    ) -> None:
        self.lab, self.weir, self.database, self.receiver = lab, weir, database, receiver
        self._url = url
        self.story = Story()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()

    def redis(self) -> AbstractContextManager[None]:
        return frozen(self._pid("valkey-server"))

    def spark(self) -> AbstractContextManager[None]:
        return frozen(
            until(lambda: self.weir.pid_of("SparkConnectServer"), BACK_WITHIN_S, "a running Spark")
        )

    def jobmanager(self) -> AbstractContextManager[None]:
        return frozen(self.lab.jobmanager_pid)

    def silent_database(self) -> AbstractContextManager[None]:
        return stopped(self.database)

    def killed_database(self) -> AbstractContextManager[None]:
        return killed(self.database)

    def _pid(self, words: str) -> int:
        pid = self.weir.pid_of(words)
        assert pid, (words, self.weir.processes())
        return pid

    def look(self, part: str) -> None:
        """At all pages, while a part is away."""
        paths = (*PAGES, f"/jobs/{CLUSTER}/{self.lab.job_id}/", "/healthz")
        self.story.pages[part] = [self._ask(path) for path in paths]

    def _ask(self, path: str) -> Page:
        began = time.monotonic()
        status, _address, text = self.weir.page(path)
        return Page(path, status, time.monotonic() - began, text)

    def submit(self, part: str) -> str:
        name = f"while {part} is away"
        job_id = self.lab.play("declined", name=name)
        self.story.jobs[job_id] = name
        return job_id

    def loses_checkpoints(self, job_id: str) -> None:
        self.lab.wait_for(
            lambda account: account["counts"]["failed"] >= DECLINES_MEANWHILE, 120, job_id
        )

    def is_covered(self, part: str, job_id: str) -> None:
        """Weir names the cause, and says so to whoever is to know."""
        named = partial(
            self.rows,
            "SELECT 1 FROM findings_finding WHERE job_id = %s AND rule = %s",
            job_id,
            RULE,
        )
        until(named, BACK_WITHIN_S, f"a finding of what happened while {part} was away", every_s=1)
        name = self.story.jobs[job_id]
        until(
            lambda: (name, "firing") in self._notices(),
            BACK_WITHIN_S,
            f"a notice of what happened while {part} was away",
            every_s=1,
        )

    def _notices(self) -> set[tuple[str, str]]:
        """(job, status) of all that the receiver was told of this rule."""
        return {
            (subject, status)
            for _id, _cluster, rule, subject, status in told_by(self.receiver)
            if rule == RULE
        }

    def end(self, job_id: str) -> None:
        self.lab.cancel(job_id=job_id)

    def gather(self) -> None:
        """Once everything is through."""
        story = self.story
        story.raw = raw_checkpoints(self.lab.layout.logs)
        until(self._all_is_known, BACK_WITHIN_S, "what the JobManager logged", ASK_AGAIN_S)
        until(
            lambda: {(name, "resolved") for name in story.jobs.values()} <= self._notices(),
            BACK_WITHIN_S,
            "every end's being told",
            1,
        )
        left = (
            "SELECT 1 FROM delivery_delivery WHERE state NOT IN ('delivered', 'dead', 'cancelled')"
        )
        until(lambda: not self.rows(left), BACK_WITHIN_S, "every delivery's end", every_s=1)
        story.facts = self._facts()
        story.states = dict(
            self.rows("SELECT job_id, state FROM fleet_jobcurrent WHERE cluster = %s", CLUSTER)
        )
        for job_id, state, last_seen, data in self.rows(
            "SELECT job_id, state, last_seen, data FROM findings_finding WHERE rule = %s", RULE
        ):
            story.findings.setdefault(job_id, []).append(
                {"state": state, "last_seen_ms": last_seen.timestamp() * 1000, **data}
            )
        story.told = [one for one in told_by(self.receiver) if one[2] == RULE]

    def _all_is_known(self) -> bool:
        known = self._facts()
        ended = self.rows(
            "SELECT count(*) FROM fleet_jobcurrent WHERE cluster = %s AND terminal", CLUSTER
        )[0][0]
        return ended == len(self.story.jobs) and all(
            set(raw.triggered_ms) <= set(known.get(job_id, ()))
            for job_id, raw in self.story.raw.items()
        )

    def _facts(self) -> dict[str, dict[int, tuple[str, int | None]]]:
        found: dict[str, dict[int, tuple[str, int | None]]] = {}
        query = (
            "SELECT job_id, checkpoint_id, outcome, state_bytes FROM "
            "checkpoints_checkpointfact WHERE cluster = %s"
        )
        for job_id, checkpoint, outcome, size in self.rows(query, CLUSTER):
            found.setdefault(job_id, {})[checkpoint] = (outcome, size)
        return found


PARTS: dict[str, Callable[[Watched], AbstractContextManager[None]]] = {
    "Redis": Watched.redis,
    "Spark": Watched.spark,
    "the silent database": Watched.silent_database,
    "the killed database": Watched.killed_database,
    "the cluster": Watched.jobmanager,
}
CLUSTER_ALONE = "the cluster"
DATABASE = ("the silent database", "the killed database")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("cut-off")
    with ExitStack() as stack:
        database = stack.enter_context(postgresql(off=NOT_FOR_POWER_CUTS))
        url = migrated_database(database, "weir")
        receiver = stack.enter_context(receiving())
        lab = stack.enter_context(start("1.20.5", "declined", slot=6, folder=folder / "flink"))
        weir = stack.enter_context(RunningWeir(folder / "home", WEIR_DATABASE_URL=url, **SETTINGS))
        weir.wait_up()
        assert weir.sign_in(*weir.printed_sign_in())
        watched = Watched(lab, weir, database, url, receiver)
        watched.story.jobs[lab.job_id] = "lab-declined"
        weir.add_endpoint(f"{receiver.url}/ok")
        added = weir.manage("add_cluster", CLUSTER, lab.url, "--logs", lab.log_glob)
        assert added.returncode == 0, added.stdout + added.stderr
        watched.is_covered("nothing", lab.job_id)
        for path in (*PAGES, f"/jobs/{CLUSTER}/{lab.job_id}/"):
            assert weir.page(path)[0] == 200, path
        for part, cut_off in PARTS.items():
            _cut_off(watched, part, cut_off)
        watched.end(lab.job_id)
        watched.gather()
        yield watched.story


def _cut_off(
    watched: Watched, part: str, cut_off: Callable[[Watched], AbstractContextManager[None]]
) -> None:
    """A cluster that is away is asked to run nothing: its job begins before, and goes on after
    it.
    """
    job_id = watched.submit(part) if part == CLUSTER_ALONE else ""
    with cut_off(watched):
        job_id = job_id or watched.submit(part)
        if part == CLUSTER_ALONE:
            unreachable = (
                "SELECT 1 FROM fleet_cluster WHERE name = %s AND unreachable_since IS NOT NULL"
            )
            until(
                lambda: watched.rows(unreachable, CLUSTER),
                BACK_WITHIN_S,
                "the cluster's being unreachable",
                every_s=1,
            )
        else:
            watched.loses_checkpoints(job_id)
        watched.look(part)
    until(
        lambda: call_or_none(f"{watched.lab.url}/overview"),
        BACK_WITHIN_S,
        "the JobManager's answer",
        every_s=1,
    )
    watched.loses_checkpoints(job_id)
    watched.is_covered(part, job_id)
    watched.end(job_id)


@pytest.mark.parametrize("part", PARTS)
def test_every_page_answers_while_it_is_away(story: Story, part: str) -> None:
    late = {page.path: page.took_s for page in story.pages[part] if page.took_s > ANSWERED_WITHIN_S}
    assert not late
    status = 503 if part in DATABASE else 200
    assert {
        page.path: page.status
        for page in story.pages[part]
        if page.status != status and page.path != "/healthz"
    } == {}


@pytest.mark.parametrize("part", [part for part in PARTS if part not in DATABASE])
def test_pages_show_what_is_known_and_how_old_it_is(story: Story, part: str) -> None:
    pages = {page.path: page.text for page in story.pages[part]}
    assert "lab-declined" in pages["/"]
    assert "declined" in pages["/findings/"]
    assert re.search(r"\d+ (s|min) ago", pages["/"]), pages["/"]


@pytest.mark.parametrize("part", DATABASE)
def test_without_the_database_pages_say_so_and_the_process_is_alive(
    story: Story, part: str
) -> None:
    *pages, alive = story.pages[part]
    assert alive.status == 200
    for page in pages:
        assert AWAY in page.text, page.path


def test_a_cluster_that_is_away_is_not_shown_as_well(story: Story) -> None:
    fleet = next(page.text for page in story.pages[CLUSTER_ALONE] if page.path == "/")
    assert "unknown" in fleet.lower()


def test_each_checkpoint_that_the_jobmanager_logged_is_there(story: Story) -> None:
    assert set(story.raw) == set(story.jobs)
    for job_id, raw in story.raw.items():
        assert set(raw.triggered_ms) - set(story.facts[job_id]) == set(), story.jobs[job_id]


def test_each_has_the_outcome_and_size_that_it_logged(story: Story) -> None:
    for job_id, raw in story.raw.items():
        facts, name = story.facts[job_id], story.jobs[job_id]
        assert {number: facts[number][0] for number in raw.declined_ms} == dict.fromkeys(
            raw.declined_ms, "declined"
        ), name
        assert {number: facts[number][0] for number in raw.completed} == dict.fromkeys(
            raw.completed, "completed"
        ), name
        by_rest = {number: size - COORDINATOR_BYTES for number, size in raw.completed.items()}
        other = {
            number: facts[number][1]
            for number in raw.completed
            if facts[number][1] not in (raw.completed[number], by_rest[number])
        }
        assert not other, name


def test_each_job_has_ended_as_it_did(story: Story) -> None:
    assert story.states == dict.fromkeys(story.jobs, "CANCELED")


def test_what_was_found_of_each_job_is_what_its_raw_log_tells(story: Story) -> None:
    assert set(story.findings) == set(story.jobs)
    for job_id, findings in story.findings.items():
        raw, name = story.raw[job_id], story.jobs[job_id]
        assert {finding["state"] for finding in findings} == {"closed"}, name
        newest = max(findings, key=lambda finding: finding["last_seen_ms"])
        declined = {decline["checkpoint_id"] for decline in newest["declines"]}
        assert declined <= set(raw.declined_ms), name
        assert max(declined) == max(raw.declined_ms), name
        assert abs(newest["last_seen_ms"] - max(raw.declined_ms.values())) < 1000, name


def test_beginning_and_end_of_each_are_told_once(story: Story) -> None:
    """What has ended before it could be told is told as ended alone."""
    assert len({tuple(one) for one in story.told}) == len(story.told)
    ends = Counter(subject for *_rest, subject, status in story.told if status == "resolved")
    assert ends == dict.fromkeys(story.jobs.values(), 1)
    assert {subject for *_rest, subject, status in story.told if status == "firing"} <= set(
        story.jobs.values()
    )
