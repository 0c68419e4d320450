"""Jobs with something to tell: the rows of small incidents."""

from datetime import timedelta

from tests.webapp.builders import (
    T0,
    annotation,
    cluster,
    declined,
    exception,
    expired,
    fact,
    finding,
    job,
    window,
)
from webapp.analyses.document import Advice, Document, Facts, Table, Value
from webapp.fleet.models import JobCurrent
from webapp.lib.scoped_rows import JobKey
from webapp.reports.document import Part, Report
from webapp.reports.gathering.incident import gather
from webapp.reports.report_scope import ReportScope, checked

HOSTILE = (
    "<script>document.title='pwned'</script>=cmd()|'/C calc'!A1 \u202egnp.exe `rm` @all "
    "[x](http://evil.example) "
) + "x" * 5_000
UID = "rep_abcdefghijklmnopqrstuvwxyz"
MADE = T0 + timedelta(hours=1)


def scope(
    *jobs: JobCurrent, start=T0 - timedelta(minutes=30), end=T0 + timedelta(minutes=30)
) -> ReportScope:
    return checked([JobKey(one.cluster, one.job_id) for one in jobs], start, end)


def told(*jobs: JobCurrent, **given: object) -> Report:
    return gather(scope(*jobs), uid=UID, made_at=MADE, made_by="olga", **given)  # type: ignore[arg-type]


def part(report: Report, begins: str) -> Document:
    """Of the appendix, the first whose key begins so."""
    return next(one for one in report.appendix if one.key.startswith(begins)).document


def parts(report: Report, begins: str) -> list[Part]:
    return [one for one in report.appendix if one.key.startswith(begins)]


def facts(document: Document) -> dict[str, Value]:
    blocks = [block for block in document.blocks if isinstance(block, Facts)]
    return {fact.key: fact.value for block in blocks for fact in block.facts}


def lines(document: Document, title: str) -> tuple[str, ...]:
    """Below a heading."""
    lists = [block for block in document.blocks if isinstance(block, Advice)]
    return next(block.lines for block in lists if block.title == title)


def table(document: Document, key: str) -> Table:
    return next(one for one in document.tables if one.key == key)


def rows(document: Document, key: str) -> list[dict[str, Value]]:
    """Of its table of this key; none where it has no such table."""
    return [
        {column.key: value for column, value in zip(one.columns, row, strict=True)}
        for one in document.tables
        if one.key == key
        for row in one.rows
    ]


def expiring(
    name: str = "clickstream", cluster_name: str = "prod-eu", **fields: object
) -> JobCurrent:
    """Four expiries in a row and a success, held by back-pressure from slow-enrich."""
    of = job(
        cluster_name,
        at=T0 + timedelta(minutes=30),
        name=name[:300],
        start_time=T0 - timedelta(hours=2),
        **fields,
    )
    for number in range(1, 6):
        fact(of, number, T0 - timedelta(minutes=26 - number))
    for number in range(6, 10):
        expired(of, number, T0 - timedelta(minutes=16 - number))
    fact(of, 10, T0 - timedelta(minutes=6))
    for minute in range(20):
        at = T0 - timedelta(minutes=20 - minute)
        window(of, "v2", at)
        window(of, "v3", at, busy_ms_per_s_p50=990.0, backpressured_ms_per_s_p50=0.0)
    finding(of, at=T0 - timedelta(minutes=2), lasted=timedelta(minutes=9))
    finding(
        of,
        "checkpoint.expired",
        T0 - timedelta(minutes=2),
        lasted=timedelta(minutes=5),
        subject_id="job",
        subject=of.name,
        title="4 checkpoints expired after 4 s, barrier held by back-pressure from slow-enrich",
        cause="3 of 11 subtasks had not acknowledged.",
        next_step=("Find out why slow-enrich is slow."),
    )
    exception(
        of,
        T0 - timedelta(minutes=8),
        stacktrace="java.io.IOException: refused, password=hunter2-canary",
    )
    return of


def seen(name: str = "prod-eu") -> None:
    cluster(name, at=T0 + timedelta(minutes=30))


def restarting() -> JobCurrent:
    of = job(at=T0 + timedelta(minutes=30), name="payments", start_time=T0 - timedelta(hours=2))
    for number in range(3):
        at = T0 - timedelta(minutes=9 - 3 * number)
        annotation(of, "restart", at, f"restart {number + 1}")
        exception(of, at - timedelta(seconds=5), "java.net.ConnectException", host="flink-tm-9")
    declined(of, 3, T0 - timedelta(minutes=10))
    return of
