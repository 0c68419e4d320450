from argparse import ArgumentParser
from typing import Any, ClassVar

from django.db.models import Model

from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.filter_sets import OfJob, WrongParameters
from webapp.lib.printing import json_line, print_lines

ROWS_AT_ONCE = 2_000


def job_named(cluster: str, job: str) -> JobCurrent:
    """``job`` is an id or a name. Raises ``CommandError``."""
    jobs = JobCurrent.objects.called(cluster, job)
    if not jobs:
        raise CommandRefused(f"There is no job {job} on a cluster called {cluster}.")
    if len(jobs) > 1:
        raise CommandRefused(f"Several jobs of {cluster} are called {job}: give the id of one.")
    return jobs[0]


class RowsCommand(PreparedCommand):
    model: ClassVar[type[Model]]
    filters: ClassVar[type[OfJob]]
    order: ClassVar[tuple[str, ...]]
    names: ClassVar[tuple[str, ...]]
    refusals = (WrongParameters,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, parameter in self.filters.parameters().items():
            if name == "job_id":
                parser.add_argument("--job", help="only of this job: its id or its name")
            else:
                help_text = parameter.about
                if name not in ("from", "to"):
                    restriction = f"only of this {name.replace('_', ' ')}"
                    help_text = ", ".join(filter(None, (restriction, parameter.about)))
                parser.add_argument(
                    f"--{name.replace('_', '-')}",
                    dest=name,
                    choices=parameter.choices or None,
                    help=help_text,
                )

    def handle(self, *args: Any, **options: Any) -> None:
        values = {name: options[name] for name in self.filters.parameters() if options.get(name)}
        rows = self.filters(values, self.model._default_manager.all()).checked()
        self._check_cluster(options["cluster"])
        if options["job"]:
            rows = rows.filter(job_id__in=self._job_ids(options["job"], options["cluster"]))
        records = rows.order_by(*self.order).values(*self.names).iterator(ROWS_AT_ONCE)
        print_lines(self.stdout, map(json_line, records))

    def _check_cluster(self, cluster: str | None) -> None:
        is_known = (
            not cluster
            or Cluster.objects.filter(name=cluster).exists()
            or self.model._default_manager.filter(cluster=cluster).exists()
        )
        if not is_known:
            raise CommandRefused(f"There is no cluster {cluster}.")

    def _job_ids(self, job: str, cluster: str | None) -> list[str]:
        jobs = JobCurrent.objects.filter(cluster=cluster) if cluster else JobCurrent.objects.all()
        if (
            jobs.filter(job_id=job).exists()
            or self.model._default_manager.filter(job_id=job).exists()
        ):
            return [job]
        ids = list(jobs.filter(name=job).values_list("job_id", flat=True))
        if not ids:
            raise CommandRefused(f"There is no job with the id or name {job}.")
        return ids
