"""Every spelling of a secret through every door of the web: notices, reports, pages, answers, logs
and the errors that are kept.
"""

import html as markup
import json
import logging
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from ingest.log_lines import JsonFormatter, TextFormatter
from tests.redaction import HONEST, SPELLINGS, Spelling
from tests.selections import mostly_long
from tests.webapp.builders import T0, cluster, event, exception, finding
from tests.webapp.builders import job as stored_job
from tests.webapp.delivery.builders import alert, delivery, endpoint, notice
from tests.webapp.pipeline.runs import AT, job, row
from tests.webapp.reports.stories import seen, told
from webapp.config import encryption
from webapp.delivery.choices import FormatName
from webapp.delivery.formats.base import Mail
from webapp.delivery.models import Delivery
from webapp.delivery.network import Answer
from webapp.delivery.notices import NoticeAlert
from webapp.delivery.outcomes import record
from webapp.delivery.rendering import render_delivery
from webapp.fleet.models import Cluster, JobException, LogEvent
from webapp.pipeline.table_models import SERVED
from webapp.reports import document_json
from webapp.reports.renderers import html
from webapp.work.models import PipelineRun
from webapp.work.runs import RunRecord, describe
from webapp.work.upserts import upsert


def leaks(text: str, spellings: list[Spelling] = SPELLINGS) -> list[str]:
    """Whatever the form escaped is read as a person reads it."""
    read = markup.unescape(text)
    for form in (read, re.sub(r"\\(.)", r"\1", read), read.replace("\\", "")):
        found = [
            f"{spelling.name}: {secret}"
            for spelling in spellings
            for secret in spelling.leaks_in(form)
        ]
        if found:
            return found
    return []


def telling(spelling: Spelling) -> NoticeAlert:
    text = spelling.text
    figure = {
        "name": f"says {text}",
        "value": text,
        "unit": "",
        "threshold": 1,
        "comparison": ">=",
        "note": text,
    }
    return alert(
        title=f"It failed: {text}",
        cause=text,
        next_step=text,
        subject=text,
        job_name=text,
        labels={"team": text},
        muted=(text,),
        muted_count=1,
        evidence=(figure,),
    )


@pytest.mark.django_db
@pytest.mark.parametrize("name", mostly_long(FormatName.values, short=4))
def test_no_notice_is_kept_with_one_nor_carries_one_in_any_format(name: str) -> None:
    to = endpoint(
        format=name, credential_encrypted=encryption.encrypt("user:word"), emails=["a@example.org"]
    )
    for spelling in SPELLINGS:
        told_of = notice(telling(spelling))
        row_of = delivery(to, told_of)
        found = render_delivery(
            row_of, told_of, T0
        )  # rows of before this rule were kept whole, and are sent all the same
        sent = (
            "\n".join((found.subject, found.text))
            if isinstance(found, Mail)
            else found.body.decode()
        )
        assert not leaks(row_of.payload + row_of.title, [spelling])
        assert not leaks(sent, [spelling])


@pytest.mark.django_db
@pytest.mark.parametrize("name", FormatName.values)
def test_honest_words_are_told_as_they_are(name: str) -> None:
    to = endpoint(
        format=name, credential_encrypted=encryption.encrypt("user:word"), emails=["a@example.org"]
    )
    for text in HONEST:
        told_of = notice(alert(cause=text))
        row_of = delivery(to, told_of)
        assert json.loads(row_of.payload)["alerts"][0]["cause"] == text
        found = render_delivery(row_of, told_of, T0)
        sent = found.text if isinstance(found, Mail) else found.body.decode()
        assert sent.count("******") == (text.count("******") and sent.count("******"))


@pytest.mark.django_db
def test_what_a_receiver_says_is_kept_without_them() -> None:
    to = endpoint()
    for spelling in SPELLINGS:
        row_of = delivery(to)
        record(row_of, Answer(5, status=500, body=spelling.text.encode(), detail=""), T0)
    kept = "\n".join(
        response
        for one in Delivery.objects.all()
        for response in one.tried.values_list("response", flat=True)
    )
    assert not leaks(kept)


@pytest.mark.django_db
def test_no_form_of_a_report_holds_one() -> None:
    seen()
    for start in range(0, len(SPELLINGS), 8):
        some = SPELLINGS[start : start + 8]
        of = stored_job(
            at=T0 + timedelta(minutes=30),
            name=f"orders-{start}",
            start_time=T0 - timedelta(hours=2),
        )
        for number, spelling in enumerate(some):
            at = T0 - timedelta(minutes=20 - number)
            event(of, "job_failed", at, spelling.text, level="ERROR", detail=spelling.text)
            exception(
                of, at, "java.lang.RuntimeException", stacktrace=spelling.text, task=spelling.text
            )
            finding(
                of,
                "checkpoint.expired",
                at,
                subject_id=f"s{number}",
                title=spelling.text,
                cause=spelling.text,
                next_step=spelling.text,
            )
        document = told(of)
        for form in (
            html.render(document),
            document_json.to_json(document),
        ):
            assert not leaks(form, some)
            assert "******" in form.replace("\\", "")


@pytest.fixture
def loaded(db: None) -> Iterator[str]:
    """Rows as a Spark run hands them over, with secrets in every text."""
    cluster("c", at=AT)
    job_id = "a" * 32
    rows = {
        "job_current": [job(job_id, name="orders", terminal=False)],
        "log_event": [],
        "job_exception": [],
        "job_annotation": [],
        "finding_occurrence": [],
    }
    for number, spelling in enumerate(SPELLINGS):
        text, ts = spelling.text, AT + timedelta(seconds=number)
        same = {"cluster": "c", "job_id": job_id}
        rows["log_event"].append(
            row(
                "log_event",
                **same,
                process="jm",
                ts=ts,
                record_hash=f"{number}",
                ordinal=0,
                kind="job_failed",
                message=text,
                detail=text,
                fields=json.dumps({"why": text}),
            )
        )
        rows["job_exception"].append(
            row(
                "job_exception",
                **same,
                ts=ts,
                task_key=f"{number}",
                exception_name="E",
                task=text,
                stacktrace=text,
            )
        )
        rows["job_annotation"].append(
            row(
                "job_annotation",
                **same,
                at=ts,
                kind="restart",
                subject=f"{number}",
                label=text,
                detail=json.dumps({"why": text}),
            )
        )
        evidence = json.dumps(
            [
                {
                    "name": text,
                    "value": 5,
                    "unit": "",
                    "threshold": 1,
                    "comparison": ">=",
                    "note": text,
                }
            ]
        )
        rows["finding_occurrence"].append(
            row(
                "finding_occurrence",
                **same,
                rule="checkpoint.failed",
                subject_id=f"{number}",
                window_start=AT,
                began_at=ts,
                seen_at=ts,
                title=text,
                cause=text,
                next_step=text,
                subject=text,
                evidence=evidence,
                related="[]",
            )
        )
    for name, some in rows.items():
        upsert(SERVED[name].table, SERVED[name].model, some, SERVED[name].derived)
    yield job_id


def test_no_row_page_or_answer_has_one(loaded: str, viewer: Client) -> None:
    assert LogEvent.objects.count() == JobException.objects.count() == len(SPELLINGS)
    for served in ("log_event", "job_exception", "job_annotation", "finding_occurrence"):
        for values in SERVED[served].model._default_manager.values():
            text = "\n".join(
                value
                if isinstance(value, str)
                else json.dumps(value, default=str, ensure_ascii=False)
                for value in values.values()
            )
            assert not leaks(text)
    asked = [reverse("job", args=("c", loaded)), reverse("api-job", args=("c", loaded))]
    asked += [
        f"{reverse(name)}?page_size=500"
        for name in ("api-log-events-list", "api-exceptions-list", "api-annotations-list")
    ]
    for page in asked:
        answer = viewer.get(page)
        assert answer.status_code == 200, page
        assert not leaks(answer.content.decode())


def test_figures_and_names_of_weirs_own_stay(loaded: str) -> None:
    occurrence = SERVED["finding_occurrence"].model._default_manager.first()
    assert (
        occurrence is not None
        and occurrence.evidence[0]["value"] == 5
        and occurrence.evidence[0]["unit"] == ""
    )


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda one: one.name)
def test_no_line_of_weirs_own_log_has_one(spelling: Spelling) -> None:
    try:
        raise OSError(spelling.text)
    except OSError as error:
        line = logging.LogRecord(
            "weir",
            logging.ERROR,
            __file__,
            1,
            "%s",
            (spelling.text,),
            (type(error), error, error.__traceback__),
        )
        said = TextFormatter().format(line) + JsonFormatter().format(line)
        kept = describe(error)
    lines = said.partition("Traceback")[0] if "\n" in spelling.text else said
    assert not leaks(lines, [spelling])
    assert not leaks(kept, [spelling])
    run = RunRecord(PipelineRun(), lambda _: None)
    run.note(spelling.text)
    assert not leaks(run.log_tail, [spelling])
    assert not leaks(run.last_line, [spelling])


@pytest.mark.django_db
def test_an_error_of_collecting_is_kept_without_one() -> None:
    from ingest.errors import Retryable

    for spelling in SPELLINGS:
        Cluster.objects.update_or_create(
            name="c", defaults={"last_error": str(Retryable(spelling.text))}
        )
        assert not leaks(Cluster.objects.get(name="c").last_error, [spelling])
