"""Print how long the starts of a job took, phase by phase."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webapp.fleet.job_command import Document, JobCommand
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import instant_text
from webapp.lib.quantities import duration_text
from webapp.starts.api.views import as_document
from webapp.starts.jar_downloads import jar_downloads
from webapp.starts.job_starts import job_starts, threads_of
from webapp.starts.parameters import StartParameters
from webapp.starts.rpc_troubles import rpc_troubles
from webapp.starts.words import KINDS, PHASES, about_calls, about_jars, verdict


class Command(JobCommand):
    help = (
        "Print how long the starts of a job took, phase by phase, and which tasks were last: a table, or with --json one object. "
        "Exit code 0, or 2 where the job is unknown."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--jar-kb", type=int, metavar="KB", help="kilobytes of all jars of the job; without it bytes are unknown")
        parser.add_argument("--link-mbit", type=int, metavar="MBIT", help="megabits a second that the JobManager can send (default: 10000)")

    def shown(self, job: JobCurrent, options: Mapping[str, Any]) -> tuple[Document, Iterable[str]]:
        asked = StartParameters({name: str(options[name]) for name in ("jar_kb", "link_mbit") if options[name] is not None})
        return lambda: as_document(job, asked), _table(job, asked)


def _table(job: JobCurrent, asked: StartParameters) -> Iterator[str]:
    found = job_starts(job)
    yield verdict(found).sentence
    for one in found.starts:
        phases = ", ".join(f"{PHASES[phase.name][0].lower()} {duration_text(phase.duration_ms)}" for phase in one.phases)
        yield f"{instant_text(one.at)}  {KINDS[one.kind]:<8}{duration_text(one.total_ms):>10}  {one.tasks:,} tasks: {phases}"
    for thread in threads_of(job, found):
        yield f"  {duration_text(thread.after_ms)} after its deployment {thread.vertex}/{thread.subtask} {thread.sentence}"
    yield about_calls(rpc_troubles(job, None, found.starts))
    yield from about_jars(jar_downloads(job, found, asked.jar_bytes, asked.link_bytes_per_s))
