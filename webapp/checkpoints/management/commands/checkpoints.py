"""Print checkpoint facts."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.management.base import CommandError

from spark_jobs.serving import OUTCOMES
from webapp.checkpoints.export import NAMES
from webapp.checkpoints.models import CheckpointFact
from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.printing import json_line, print_lines

ROWS_AT_ONCE = 2_000
COLUMNS = (
    ("cluster", 20), ("job_id", 32), ("checkpoint_id", 8), ("kind", 10), ("outcome", 11), ("trigger_time", 24),
    ("end_to_end_ms", 13), ("state_bytes", 14), ("checkpointed_bytes", 18), ("acknowledged", 12), ("reason", 0),
)  # fmt: skip


class Command(PreparedCommand):
    help = (
        "Print what is known about checkpoints, by cluster, job and trigger time: a table, or with --json one object a line. "
        "Exit code 0, or 2 where the cluster or job is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", help="only of this cluster")
        parser.add_argument("--job", help="only of this job: its id or its name")
        parser.add_argument("--outcome", choices=OUTCOMES, help="only those that ended so")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        facts = CheckpointFact.objects.all()
        if options["cluster"]:
            facts = facts.filter(cluster=options["cluster"])
            if not facts.exists() and not Cluster.objects.filter(name=options["cluster"]).exists():
                raise CommandError(f"There is no cluster {options['cluster']}.", returncode=REFUSED)
        if options["job"]:
            facts = facts.filter(job_id__in=self._job_ids(options["job"], options["cluster"]))
        if options["outcome"]:
            facts = facts.filter(outcome=options["outcome"])
        rows = facts.order_by("cluster", "job_id", "trigger_time", "id").values_list(*NAMES).iterator(ROWS_AT_ONCE)
        print_lines(self.stdout, _json_lines(rows) if options["json"] else _table(rows))

    def _job_ids(self, job: str, cluster: str | None) -> list[str]:
        if CheckpointFact.objects.filter(job_id=job).exists():
            return [job]
        named = JobCurrent.objects.filter(name=job)
        named = named.filter(cluster=cluster) if cluster else named
        found = list(named.values_list("job_id", flat=True))
        if not found and not JobCurrent.objects.filter(job_id=job).exists():
            raise CommandError(f"There is no job with the id or name {job}.", returncode=REFUSED)
        return found or [job]


def _json_lines(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    return (json_line(NAMES, row) for row in rows)


def _table(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    yield _aligned([name for name, _ in COLUMNS])
    yield from map(_as_table_line, rows)


def _as_table_line(values: tuple[Any, ...]) -> str:
    fact = dict(zip(NAMES, values, strict=True))
    fact["kind"] = {True: "savepoint", False: "checkpoint", None: "unknown"}[fact["is_savepoint"]]
    fact["trigger_time"] = fact["trigger_time"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fact["acknowledged"] = f"{_shown(fact['acknowledged'])}/{_shown(fact['subtasks'])}"
    return _aligned([_shown(fact[name]) for name, _ in COLUMNS])


def _aligned(cells: list[str]) -> str:
    right = ("checkpoint_id", "end_to_end_ms", "state_bytes", "checkpointed_bytes", "acknowledged")
    padded = (cell.rjust(width) if name in right else cell.ljust(width) for cell, (name, width) in zip(cells, COLUMNS, strict=True))
    return "  ".join(padded).rstrip()


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
