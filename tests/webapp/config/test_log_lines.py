"""What a line of Weir's log belongs to, from the browser to the Spark job; and what never stands in
one.
"""

import json
import logging
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from ingest import log_lines
from tests.weir_settings import WeirSettings
from webapp.config.celery import app
from webapp.launch.access_log import AccessLog
from webapp.site.views import fleet
from webapp.work import broker, hints, spark_job
from webapp.work.hints import Task
from webapp.work.models import DueWork, PipelineRun
from webapp.work.runs import RunRecord, record_run

Lines = Callable[[], list[dict[str, Any]]]
GIVEN = "0123abcd-proxy.1"


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What was logged as JSON."""
    written, root = StringIO(), logging.getLogger()
    handler = logging.StreamHandler(written)
    handler.setFormatter(log_lines.JsonFormatter())
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    root.removeHandler(handler)


def test_each_answer_has_an_id_of_its_own_and_nobody_chooses_it() -> None:
    seen = {
        Client().get("/healthz", headers={"X-Request-ID": GIVEN})["X-Request-ID"] for _ in range(3)
    }
    assert len(seen) == 3 and GIVEN not in seen


@pytest.mark.parametrize("hostile", ["a b", "x" * 65, "short", '"><script>', "a\tb-23456789"])
def test_a_declared_proxy_gives_ids_but_no_hostile_ones(weir: WeirSettings, hostile: str) -> None:
    weir(behind_proxy=True)
    assert Client().get("/healthz", headers={"X-Request-ID": GIVEN})["X-Request-ID"] == GIVEN
    assert Client().get("/healthz", headers={"X-Request-ID": hostile})["X-Request-ID"] != hostile


def test_what_broke_is_found_in_the_log_by_the_id_on_the_page(
    viewer: Client, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(
            "bearer token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2VjcmV0c2VjcmV0c2VjcmV0"
        )

    monkeypatch.setattr(fleet, "render", broken)
    viewer.raise_request_exception = False
    answer = viewer.get("/")
    known = answer["X-Request-ID"]
    assert answer.status_code == 500 and known in answer.content.decode()
    told = [line for line in lines() if line.get("request_id") == known]
    assert [line["status_code"] for line in told] == [500]
    assert "RuntimeError" in told[0]["exception"] and "c2VjcmV0c2VjcmV0" not in json.dumps(told)


def test_other_pages_of_errors_name_their_request_too(viewer: Client) -> None:
    missing = viewer.get("/jobs/no/such/")
    assert missing.status_code == 404 and missing["X-Request-ID"] in missing.content.decode()


def test_the_access_log_names_the_request() -> None:
    said: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        environ["weir.request_id"] = GIVEN
        start_response("200 OK", [])
        return []

    AccessLog(application, said.append)(
        {"PATH_INFO": "/", "REQUEST_METHOD": "GET"}, lambda *_: None
    )  # type: ignore[arg-type]
    assert said[0].endswith(f" {GIVEN}")


@pytest.mark.django_db
def test_lines_of_a_run_name_it_and_the_request_of_its_task(lines: Lines) -> None:
    DueWork.objects.make_due("spark/cycle", 30, timezone.now())
    for request in (GIVEN, ""):
        lease = DueWork.objects.claim("spark/cycle", timezone.now(), even_if_not_due=True)
        assert lease
        with log_lines.request_context(request), record_run(lease, "spark") as record:
            record.say("working")
        lease.complete(timezone.now())
    first, second = PipelineRun.objects.order_by("id")
    told = [
        (line["run"], line.get("request_id")) for line in lines() if line["message"] == "working"
    ]
    assert told == [(first.attempt, GIVEN), (second.attempt, None)]


def test_a_hint_carries_the_request_into_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(broker, "send", lambda _task, _key, options: sent.append(options))
    with log_lines.request_context(GIVEN):
        hints.send(Task("pipeline.maintain", "default", 60), "maintenance/lake")
    seen: list[str] = []

    @app.task(name="tests.seen")
    def see() -> None:
        seen.append(log_lines.request_id())

    see.apply(headers=sent[0]["headers"])
    see.apply()
    assert seen == [GIVEN, ""]


def test_a_spark_job_logs_with_run_and_request_and_its_record_has_the_warning(
    lines: Lines, settings: Any
) -> None:
    settings.SPARK_JOB = "tests.webapp.config.logged.run_job"
    record = RunRecord(PipelineRun(), logging.getLogger("test").info)
    with log_lines.request_context(GIVEN), log_lines.run_context("spark-1"):
        spark_job.run([], record, "spark-1")
    (told,) = [line for line in lines() if line["logger"] == "spark_jobs.fold"]
    assert (told["run"], told["request_id"], told["level"]) == ("spark-1", GIVEN, "WARNING")
    for text in (told["message"], record.log_tail):
        assert "a rule failed" in text and "hunter2" not in text


def test_text_names_both_before_the_message() -> None:
    record = logging.LogRecord(
        "webapp", logging.INFO, "x.py", 1, "said %s", ("password=hunter2hunter2",), None
    )
    with log_lines.request_context(GIVEN), log_lines.run_context("spark-1"):
        line = log_lines.TextFormatter().format(record)
    assert f"INFO webapp [spark-1 {GIVEN}] said" in line and "hunter2" not in line
    assert "INFO webapp said" in log_lines.TextFormatter().format(record)
