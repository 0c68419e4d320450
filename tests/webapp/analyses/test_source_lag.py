"""Lag of real sources: as the source itself counted it, when it has caught up, and what vertices
read by the hour.
"""

import gzip
from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT, JOB_START, PRESSURE_WINDOW
from tests.first_cycles import CLUSTER, served_tables
from tests.played import FOLDER, of_rule
from tests.webapp.analyses.answers import facts_of, tables_of
from tests.webapp.builders import T0, cluster, job, window
from webapp.analyses.document import Inputs, Table
from webapp.analyses.job.source_lag import job_sources, source_lag
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent, JobStart
from webapp.pressure.hours import sum_up
from webapp.pressure.models import PressureWindow, VertexHour
from webapp.work.models import RolledUp

pytestmark = pytest.mark.django_db
RELEASES = ("1.20.5", "2.3.0")
SOURCE = "Source: growing log"
FALLING_S = {"1.20.5": 690, "2.3.0": 662}
"""Of the log, where the newest minute is one in which the lag falls."""
COLLECTED_WITHIN_S = 12
"""The JobManager collects figures every ten seconds, and only when it is asked for any."""


class Own:
    """What the splits of one job counted themselves, by the second."""

    def __init__(self, release: str, name: str) -> None:
        files = sorted((FOLDER / release / "growing-lag").glob(f"{name}-*.tsv.gz"))
        splits = [[tuple(map(int, line.split())) for line in _lines(file)] for file in files]
        self.at_s = [at / 1000 for at, *_ in splits[0]]
        self.lag = [
            sum(arrived - read for _, arrived, read in second)
            for second in zip(*splits, strict=False)
        ]

    def between(self, start_s: float, end_s: float) -> list[int]:
        return self.lag[bisect_left(self.at_s, start_s) : bisect_left(self.at_s, end_s) + 1]

    def at(self, place_s: float) -> datetime:
        return datetime.fromtimestamp(self.at_s[0] + place_s, UTC)


class OwnOfTopic(Own):
    """What who wrote to the partitions of a topic and who read them counted, each by the second."""

    def __init__(self, folder: Path, name: str) -> None:
        fed, read = (
            [
                [tuple(map(int, line.split())) for line in _lines(file)]
                for file in sorted(folder.glob(f"{name}-{what}-*.tsv.gz"))
            ]
            for what in ("fed", "read")
        )
        assert len(fed) == len(read) == 2
        # Readers begin to count when they read their first record.
        since = max(counts[0][0] for counts in (*fed, *read))
        instants = [at for at, _count in fed[0] if at > since]
        self.at_s = [at / 1000 for at in instants]
        self.lag = [
            sum(_count_at(counts, at) for counts in fed)
            - sum(_count_at(counts, at) for counts in read)
            for at in instants
        ]


def _count_at(counts: list[tuple[int, ...]], at: int) -> int:
    return counts[bisect_left(counts, (at, 0)) - 1][1]


def _lines(file: Path) -> list[str]:
    return gzip.decompress(file.read_bytes()).decode().splitlines()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Release → rows of the tables, each made once."""
    tables = (JOB_CURRENT, PRESSURE_WINDOW, CHECKPOINT_FACT, JOB_START)
    return {
        release: served_tables(
            FOLDER / release / "growing-lag", tmp_path_factory.mktemp(release), *tables
        )
        for release in RELEASES
    }


@pytest.fixture(params=RELEASES)
def release(request, served):
    jobs, *others = served[request.param]
    JobCurrent.objects.bulk_create(JobCurrent(**row) for row in jobs)
    for model, rows in zip((PressureWindow, CheckpointFact, JobStart), others, strict=True):
        model.objects.bulk_create(model(**row) for row in rows)
    at = max(row["as_of"] for row in jobs)
    cluster(CLUSTER, at=at, url=f"/recordings/{CLUSTER}", kind="recording")
    return request.param


def job_called(name: str) -> JobCurrent:
    return JobCurrent.objects.get(name=f"lab-{name}")


def asked(at: datetime):
    return source_lag.answer(job_called("growing-lag"), Inputs(at, at, at))


@pytest.mark.parametrize(
    ("name", "files", "splits"), [("growing-lag", "log", 2), ("dead-split", "dead", 3)]
)
def test_records_not_read_are_those_that_the_source_itself_counted(release, name, files, splits):
    own = Own(release, files)
    windows = PressureWindow.objects.filter(
        job_id=job_called(name).job_id, vertex_name=SOURCE, pending_records__isnull=False
    )
    compared = 0
    for one in windows:
        at_s = one.as_of.timestamp()
        if counted := own.between(at_s - COLLECTED_WITHIN_S, at_s):
            slack = 100 * splits  # half a second of what arrives
            assert min(counted) - slack <= one.pending_records <= max(counted) + slack
            assert one.pending_subtasks == splits
            compared += 1
    assert compared >= 10


def test_a_lag_that_grows_stays_and_is_caught_up_is_called_so(release):
    own = Own(release, "log")
    sentences = [
        asked(own.at(second)).verdict for second in (40, 440, 590, FALLING_S[release], 790)
    ]
    assert [one.tone for one in sentences] == ["ok", "warn", "warn", "done", "ok"]
    assert [
        word in one.sentence
        for word, one in zip(
            ("keep up", "falls behind", "does not become less", "catches up", "keep up"),
            sentences,
            strict=True,
        )
    ] == [True] * 5


def test_catching_up_takes_as_long_as_its_bounds_say(release):
    own = Own(release, "log")
    at = own.at({"1.20.5": 690, "2.3.0": 720}[release])
    (source,) = job_sources(job_called("growing-lag"), at).sources
    left_s = source.now.as_of.timestamp()
    took_s = next(
        at for at, lag in zip(own.at_s, own.lag, strict=False) if at > left_s and lag < 99
    )
    caught = source.catch_up_time
    assert caught
    assert source.lag / -source.trend.low_per_s - COLLECTED_WITHIN_S <= took_s - left_s
    assert took_s - left_s <= (caught.latest_s or float("inf")) + COLLECTED_WITHIN_S


def test_only_the_lag_that_grows_is_found_and_only_the_split_that_is_dead(release):
    played = f"{release}/growing-lag"
    own = Own(release, "log")
    growing = [
        one for one in of_rule(played, "source.lag_growing") if one["job_name"] == "lab-growing-lag"
    ]
    assert growing
    assert all(own.at(60) < one["seen_at"] <= own.at(560) for one in growing)
    idle = of_rule(played, "source.idle")
    assert {(one["job_name"], tuple(one["data"]["subtasks"])) for one in idle} == {
        ("lab-dead-split", (2,))
    }


def test_a_source_that_reports_no_lag_is_unknown_and_the_page_says_what_was_read_of_real_ones(
    viewer: Client,
):
    cluster(at=T0)
    own = job(at=T0)
    window(own, own.graph["vertices"][0]["vertex_id"], T0)
    body = viewer.get(
        reverse("api-job-analysis-source-lag", args=[own.cluster, own.job_id]),
        {"to": T0.isoformat()},
    )
    document = body.json()
    assert document["verdict"]["tone"] == "unknown"
    text = str(document)
    assert "no connector reports it" in text
    assert "By its documentation and source code alone: millisBehindLatest of Kinesis" in text
    assert tables_of(document)["sources"]["rows"][0]["pending_records"] is None
    assert facts_of(document)["outage_hour_ms"] is None


class Guard:
    def writing(self):
        from contextlib import nullcontext

        return nullcontext()


class Record:
    def __init__(self):
        self.counts = {}


def test_hours_are_sums_of_their_minutes_and_late_minutes_are_taken_up(release):
    guard, record = Guard(), Record()
    sum_up(guard, record)
    own = job_called("growing-lag")
    minutes = PressureWindow.objects.filter(job_id=own.job_id, vertex_name=SOURCE)
    hours = VertexHour.objects.filter(job_id=own.job_id, vertex_name=SOURCE)
    assert sum(one.windows for one in hours) == minutes.count()
    assert sum(one.records_out for one in hours) == pytest.approx(
        sum(60 * (one.records_out_per_s or 0) for one in minutes)
    )
    assert max(one.pending_records_max for one in hours) == max(
        one.pending_records or 0 for one in minutes
    )
    before = list(VertexHour.objects.order_by("pk").values())
    RolledUp.objects.update(loaded_at=T0 - timedelta(days=400))
    sum_up(guard, record)
    assert list(VertexHour.objects.order_by("pk").values()) == before
    first = hours.earliest("period_start")
    late = minutes.latest("window_start")
    late.pk = None
    late.window_start = first.period_start
    late.save()
    sum_up(guard, record)
    assert hours.get(pk=first.pk).windows == first.windows + 1


def test_throughput_shows_what_is_kept_by_the_hour():
    cluster(at=T0)
    own = job(at=T0)
    vertex_id = own.graph["vertices"][0]["vertex_id"]
    VertexHour.objects.create(
        cluster=own.cluster,
        job_id=own.job_id,
        vertex_id=vertex_id,
        period_start=T0 - timedelta(days=60),
        windows=60,
        records_out=3_600_000.0,
        records_out_per_s_max=4_000.0,
        as_of=T0,
    )
    (table,) = [
        block
        for block in source_lag.answer(own, Inputs(T0, T0, T0)).blocks
        if isinstance(block, Table) and block.key == "throughput"
    ]
    assert table.rows[0][4:] == (4_000.0, None, 3_600_000.0)


KAFKA = FOLDER / "2.3.0" / "kafka-lag"
FETCHED = 250
"""Records of a partition that its reader may have got at once and not handed on, or that were
written since it last asked.
"""
ASKED_WITHIN_S = 22
"""It was read every 20 seconds: figures may be those of the time before."""


@pytest.fixture(scope="module")
def of_kafka(tmp_path_factory):
    return served_tables(KAFKA, tmp_path_factory.mktemp("kafka"), JOB_CURRENT, PRESSURE_WINDOW)


def test_records_that_a_kafka_source_has_not_read_are_those_of_its_topic(of_kafka):
    own, compared = OwnOfTopic(KAFKA, "log"), 0
    for row in of_kafka[1]:
        at_s = row["as_of"].timestamp()
        if row["pending_records"] is None or at_s - ASKED_WITHIN_S < own.at_s[0]:
            continue
        counted = own.between(at_s - ASKED_WITHIN_S, at_s)
        slack = 2 * FETCHED
        assert min(counted) - slack <= row["pending_records"] <= max(counted) + slack
        assert row["pending_subtasks"] == 2
        compared += 1
    assert compared >= 7


def test_kafka_lag_that_grows_stays_and_is_caught_up_is_called_so(of_kafka):
    own = OwnOfTopic(KAFKA, "log")
    of = saved(*of_kafka)
    tones = [
        source_lag.answer(of, Inputs(at, at, at)).verdict.tone
        for at in (own.at(second) for second in (150, 260, 390, 460))
    ]
    assert tones == ["warn", "warn", "done", "ok"]


def saved(jobs, windows) -> JobCurrent:
    JobCurrent.objects.bulk_create(JobCurrent(**row) for row in jobs)
    PressureWindow.objects.bulk_create(PressureWindow(**row) for row in windows)
    return JobCurrent.objects.get()


def test_what_kafka_and_watermark_alignment_report_are_facts_of_the_page(home, viewer: Client):
    played = FOLDER / "2.3.0" / "kafka-aligned"
    of = saved(*served_tables(played, home, JOB_CURRENT, PRESSURE_WINDOW))
    cluster(CLUSTER, at=of.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    url = reverse("api-job-analysis-source-lag", args=[CLUSTER, of.job_id])
    facts = facts_of(viewer.get(url, {"to": of.as_of.isoformat()}).json())
    # The newest answer of Flink: see rest.jsonl.gz.
    assert (facts["offset_commits_failed"], facts["split_paused_ms_per_s"]) == (0, 729)
    assert (facts["alignment_drift_ms"], facts["records_lag_max"]) == (-5000, 6791)


def test_records_that_kafka_has_no_commit_of_are_a_fact_of_the_page(home, viewer: Client):
    played = FOLDER / "2.3.0" / "kafka-commits"
    of = saved(*served_tables(played, home, JOB_CURRENT, PRESSURE_WINDOW))
    cluster(CLUSTER, at=of.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    url = reverse("api-job-analysis-source-lag", args=[CLUSTER, of.job_id])
    facts = facts_of(viewer.get(url, {"to": of.as_of.isoformat()}).json())
    # The newest answer of Flink: offsets 50812 and 50806 were read, 50723 committed of both.
    assert facts["uncommitted_records"] == 90 + 84
