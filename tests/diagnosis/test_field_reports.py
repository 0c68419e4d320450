"""What people reported of failing jobs, line by line (``tests/fixtures/field/reports.log``): each is
an event, and gives its cause away. What happened, and where it was reported:
``tests/fixtures/field/README.md``.
"""

from pathlib import Path

import pytest

from ingest.flink_logs.event_parser import event_of
from ingest.flink_logs.files import records_of
from spark_jobs.diagnosis.failure_causes.table import cause_of_failure, code_of

FIELD = Path(__file__).parents[1] / "fixtures" / "field"


def reports():
    """Name, kind of the event, code of the cause, lines."""
    for report in (FIELD / "reports.log").read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, lines = report.partition("\n")
        name, kind, code = (part.strip() for part in head.split("|"))
        yield pytest.param(kind, code, lines, id=name)


REPORTS = list(reports())


@pytest.mark.parametrize(("kind", "code", "lines"), REPORTS)
def test_a_reported_line_is_an_event_that_gives_its_cause_away(kind, code, lines):
    [event] = filter(None, map(event_of, records_of(lines.encode(), file="x.log")))
    assert event.kind == kind
    assert code_of(cause_of_failure(event.reason_text or "", event.detail)) == code


def test_each_report_stands_in_the_table_with_its_link():
    rows = [line for line in (FIELD / "README.md").read_text().splitlines() if line[:3] == "| `"]
    linked = {row.split("`")[1] for row in rows if "](https://" in row}
    assert {param.id for param in REPORTS} <= linked
