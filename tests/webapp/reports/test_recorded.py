"""Reports of recordings against a recount of Flink's raw answers and logs."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.http import QueryDict

from spark_jobs.serving import CHECKPOINT_FACT, FAILED_OUTCOMES, JOB_ANNOTATION, JOB_CURRENT
from tests.acceptance.recount import figures, has_one_size, recount
from tests.first_cycles import served_tables
from tests.selections import mostly_long
from tests.webapp.reports.stories import MADE, UID, facts, lines, part
from webapp.analyses.document import Document, Facts, NotKnown
from webapp.analyses.inputs import inputs_for_job
from webapp.analyses.registry import all_analyses
from webapp.checkpoints import querysets
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobAnnotation, JobCurrent
from webapp.lib.quantities import bytes_text
from webapp.lib.scoped_rows import JobKey
from webapp.reports.document import Report
from webapp.reports.gathering.incident import gather
from webapp.reports.report_scope import checked

pytestmark = pytest.mark.django_db
RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
MODELS = (JobCurrent, CheckpointFact, JobAnnotation)
recordings = pytest.mark.parametrize(
    "recording",
    # Savepoints among checkpoints; expired, then cancelled; declined; killed; cancelled.
    mostly_long(["1.20.5/G", "1.20.5/F", "1.20.5/E", "1.20.5/I", "1.20.5/L2", "1.12.5/G"], short=2),
)


@pytest.fixture
def of() -> Callable[[str], JobCurrent]:
    def taken(recording: str) -> JobCurrent:
        with TemporaryDirectory() as home:
            tables = served_tables(
                RECORDINGS / recording, Path(home), JOB_CURRENT, CHECKPOINT_FACT, JOB_ANNOTATION
            )
        for model, rows in zip(MODELS, tables, strict=True):
            model.objects.bulk_create(model(**row) for row in rows)
        return JobCurrent.objects.get()

    return taken


def raw(recording: str) -> list[dict[str, Any]]:
    """Outcome, kind and figures of each checkpoint."""
    return [
        {"id": number, "outcome": known.outcome, "is_savepoint": known.is_savepoint}
        | figures(known, is_one_size=has_one_size(recording))
        for (_job, number, _trigger), known in recount(RECORDINGS / recording).items()
    ]


def report(job: JobCurrent) -> Report:
    start, end = job.start_time - timedelta(seconds=1), job.last_seen_at + timedelta(seconds=1)
    scope = checked([JobKey(job.cluster, job.job_id)], start, end)
    return gather(scope, uid=UID, made_at=MADE, made_by="olga")


def titles(document: Document) -> list[str]:
    blocks = [block for block in document.blocks if isinstance(block, Facts)]
    return [str(fact.name) for block in blocks for fact in block.facts]


@recordings
def test_the_worst_checkpoint_is_a_failed_one_or_the_one_that_took_longest(
    of: Callable[[str], JobCurrent], recording: str
) -> None:
    job, known = of(recording), raw(recording)
    (bar,), total = querysets.bars(CheckpointFact.objects.all(), job.cluster, 1)
    assert total == len(known)
    failed = [one for one in known if one["outcome"] in FAILED_OUTCOMES]
    longest = max(failed or known, key=lambda one: one["end_to_end_ms"] or 0)
    assert (bar.checkpoint_id, bar.end_to_end_ms) == (longest["id"], longest["end_to_end_ms"])


@recordings
def test_failed_checkpoints_and_their_bytes_are_counted_without_those_of_a_cancel(
    of: Callable[[str], JobCurrent], recording: str
) -> None:
    known, made = raw(recording), report(of(recording))
    failed = [one for one in known if one["outcome"] in FAILED_OUTCOMES]
    sizes = [one["checkpointed_bytes"] for one in failed]
    wasted = sum(size or 0 for size in sizes)
    failed_checkpoints = sum(not one["is_savepoint"] for one in failed)
    assert facts(made.pages)["checkpoints_failed"] == failed_checkpoints
    cost = [line for line in lines(made.pages, "What it cost") if "uploaded for" in line]
    expected = [f"At least {bytes_text(wasted)} were uploaded for checkpoints that failed."]
    assert cost == (expected if wasted else [])
    if recording == "1.20.5/F":
        assert any(one["outcome"] == "aborted" and one["checkpointed_bytes"] for one in known)


@recordings
def test_no_two_figures_of_a_report_have_one_title(
    of: Callable[[str], JobCurrent], recording: str
) -> None:
    made = report(of(recording))
    both = set(titles(made.pages)) & set(titles(part(made, "job-")))
    assert both == set()


def test_checkpoints_without_a_failure_prove_no_more_than_their_number_does(
    of: Callable[[str], JobCurrent],
) -> None:
    job, known = of("1.20.5/L1"), raw("1.20.5/L1")
    assert {one["outcome"] for one in known} == {"completed"}
    analysis = all_analyses()["one-task-fails"]
    inputs = inputs_for_job(job, analysis.parameters.from_page(QueryDict()))
    notes = [
        block.reason for block in analysis.answer(job, inputs).blocks if isinstance(block, NotKnown)
    ]
    tasks = sum(vertex["parallelism"] for vertex in job.graph["vertices"])
    taken = sum(not one["is_savepoint"] for one in known)
    least = 0.05 ** (1 / (taken * tasks))
    assert any(
        f"None of its {taken} checkpoints failed: each task completed its part in "
        f"{least * 100:.6g} % or more (95 % confidence)" in note
        for note in notes
    ), notes
