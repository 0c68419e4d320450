"""What benches make before the clock starts, and what they hold of it afterwards, at toy size:
benches run seldom, and rot unseen.
"""

import io
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from ingest.flink_logs.files import read_file
from tests.bench import (
    bench_audit,
    bench_log_events,
    bench_metadata,
    bench_pages,
    bench_placement,
    bench_pressure,
    bench_tail,
    page_timings,
    paged_fleet,
)
from tests.bench.fleet_cycles import check, ready
from tests.bench.generated_log import generated_log
from tests.bench.generated_metadata import generated_metadata
from tests.bench.harness import Report
from tests.bench.paged_fleet import Size
from tests.bench.paged_requests import of_every_page
from tests.spark_processes import run_cycle
from tests.webapp.builders import person


def test_the_audit_finds_all_references_that_its_bench_keeps(tmp_path: Path) -> None:
    bench = bench_audit.Bench(tmp_path, 2 * bench_audit.FILES_A_JOB)
    assert bench.seconds() > 0
    assert bench.plain_seconds() > 0


def test_a_cycle_over_a_generated_fleet_goes_on_from_what_is_remembered_of_it(
    tmp_path: Path,
) -> None:
    made = ready(tmp_path, jobs=50, hours=1, vertices=2, subtasks=2)
    client = run_cycle(
        tmp_path / "lake", tmp_path / "run-0", "toy", {}, "--previous", made.previous
    )
    said, _ = client.communicate()
    assert client.returncode == 0, said
    check(tmp_path / "run-0", made.fleet)


def test_pressure_windows_are_made_of_the_rows_of_their_bench() -> None:
    assert bench_pressure.seconds(bench_pressure.samples(2)) > 0


def test_the_plan_of_the_placement_bench_is_placed_by_all_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"VERTICES": 60, "PARALLELISM": 20, "TASKMANAGERS": 4}.items():
        monkeypatch.setattr(bench_placement, name, value)
    report = Report(io.StringIO())
    bench_placement.run(report)
    assert report.figures[0].name == "plan: tasks"


def test_the_generated_metadata_is_read_whole(tmp_path: Path) -> None:
    file = generated_metadata(
        tmp_path / "_metadata", 4_000, trailer=bench_metadata.PROPERTIES.read_bytes()
    )
    assert bench_metadata._timed(file, 4_000) > 0


def test_the_generated_log_is_tailed_and_found_by_grep_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_BENCH_LOG_MB", "1")
    report = Report(io.StringIO())
    bench_tail.run(report)
    assert report.figures[0].value > 0
    assert bench_log_events._grep(generated_log(1)) > 0
    for write in (bench_log_events._as_cri, bench_log_events._as_json):
        write(generated_log(1), tmp_path / "other.log")
        assert any(records for records, _ in read_file(str(tmp_path / "other.log"), keep="all"))


@pytest.mark.long
@pytest.mark.django_db
def test_the_pages_of_the_page_bench_answer_all_that_is_asked_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"ROUNDS": 1, "LEAST": 1, "PAGES_BEHIND": 1}.items():
        monkeypatch.setattr(page_timings, name, value)
    size = Size(
        jobs=120, clusters=5, days=3, hosts=20, host_events=120, closed=40, checkpoints_a_day=20
    )
    asked = of_every_page(size, paged_fleet.fill(size, timezone.now() + timedelta(minutes=1)))
    client = Client()
    client.force_login(person())
    assert asked.keys() == bench_pages.BUDGET_MS.keys()
    thinned = {page: requests[:: max(len(requests) // 4, 1)] for page, requests in asked.items()}
    figures = page_timings.figures(client, thinned)
    assert all(ms > 0 for ms in figures["p95_ms"].values())
    assert all(
        of_page.context[name]
        for page, name in (("hosts", "page"), ("alerts", "rows"), ("incidents", "rows"))
        for of_page in [client.get(f"/{page}/")]
    )
