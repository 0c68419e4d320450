"""Print how long the restores of a job took, and what one would take now."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webapp.fleet.job_command import Document, JobCommand
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import bytes_text, count_text, duration_text, percent_text
from webapp.recovery.api.views import as_document
from webapp.analyses.recovery.job_restores import READ_MS, JobRestores, job_restores
from webapp.recovery.parameters import MOST_REUSE
from webapp.recovery.words import LABELS, regional_summary, summary


class Command(JobCommand):
    help = (
        "Print what a failure of a job restarts, how long its restores took, what one would take now from its newest checkpoint, local "
        "state or savepoint, and what union state makes its subtasks read, how its operator state grew: words, or with --json one object. "
        "Exit code 0, or 2 where the job is unknown."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--read-ms", type=float, default=READ_MS, metavar="MS", help="to open and read one file (default: %(default)s)")
        parser.add_argument(
            "--share", type=int, default=20, metavar="PERCENT", help="that a regional checkpoint may lack (default: %(default)s)"
        )
        parser.add_argument("--reuse", type=int, default=3, metavar="N", help="of a part's old snapshot, in a row (default: %(default)s)")

    def shown(self, job: JobCurrent, options: Mapping[str, Any]) -> tuple[Document, Iterable[str]]:
        found = job_restores(
            job,
            job.last_seen_at or job.as_of,
            options["read_ms"],
            (min(max(options["share"], 0), 100) / 100, min(max(options["reuse"], 0), MOST_REUSE)),
        )
        return lambda: as_document(found), _words(found)


def _words(found: JobRestores) -> Iterator[str]:
    yield summary(found)
    for one in found.choices:
        time = duration_text(one.estimate.expected_ms) if one.estimate else "not known"
        yield f"  {LABELS[one.kind]!s:<36}{bytes_text(one.file_bytes):>10} in {count_text(one.files):>8} files  {time}"
    for union in found.unions:
        yield (
            f"  union state of {union.operator or union.operator_id}: {count_text(union.reads)} reads, {bytes_text(union.read_bytes)}; "
            f"a subtask reads {duration_text(union.serial_ms)} one by one"
        )
    for state in found.operator_states:
        grown = f", × {state.ratio:,.1f} since checkpoint {state.since}" if state.ratio is not None else ""
        yield (
            f"  operator state of {state.name or state.operator_id}: {count_text(state.newest.elements)} elements, "
            f"{bytes_text(state.newest.operator_bytes)}{grown}; {bytes_text(state.newest.keyed_bytes)} of keyed state"
        )
    if found.failover:
        of = found.failover
        yield f"  {count_text(of.tasks)} tasks in {count_text(of.regions)} failover regions; the largest has {count_text(of.largest)}"
        for host in of.hosts[:1]:
            yield f"  the loss of host {host.host} restarts {count_text(host.restarts)} tasks"
        for restart in of.observed[:1]:
            yield f"  observed last: {count_text(restart.tasks)} tasks restarted at {restart.at.isoformat()}"
        yield f"  {regional_summary(of)}"
        for point in of.checkpoints.curve:
            if point.own:
                shares = f"full {percent_text(point.own.full)}, by region {percent_text(point.own.by_region)}"
                yield f"    parallelism {count_text(point.parallelism):>7}: {shares}"
        if of.spare:
            yield f"  spare slots would save {duration_text(of.spare.saved_ms)} for each TaskManager lost"
    for line in found.unknown:
        yield f"  ? {line}"
