"""Print how state, uploads and unreferenced files grow, by job, cluster or label, and when quotas
are reached.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.growth.api.views import JobGrowthSerializer, QuotaUseSerializer, groups_document
from webapp.growth.filters import DEFAULT_DAYS, GrowthFilters
from webapp.growth.groups import JOB, groupings, groups_by
from webapp.growth.models import JobGrowth
from webapp.growth.quotas import uses
from webapp.growth.sorting import SORTS
from webapp.growth.trends import WINDOWS, Until
from webapp.growth.words import until_text
from webapp.lib.filter_sets import WrongParameters
from webapp.lib.printing import print_document, print_lines
from webapp.lib.quantities import bytes_per_day_text as per_day
from webapp.lib.quantities import bytes_text, change_text, duration_text


class Command(PreparedCommand):
    help = (
        "Print the growth of jobs over 7, 30 or 90 days: a table, or with --json one object per "
        "line. With --by, group by cluster or by a label. With --quotas, print when quotas are "
        "reached (one object). Unknown is null. Exit code 0, or 2 if a parameter is invalid."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--by", default=JOB, help="job, cluster, or a label of clusters, such as team"
        )
        parser.add_argument("--days", type=int, default=DEFAULT_DAYS, choices=WINDOWS)
        parser.add_argument("--cluster", help="only jobs of this cluster")
        parser.add_argument(
            "--label", help="only jobs of clusters with this label, such as team=payments"
        )
        parser.add_argument("--sort", default="growth", choices=list(SORTS))
        parser.add_argument(
            "--quotas", action="store_true", help="quotas of roots and clusters instead"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        window = options["days"]
        if options["by"] not in (known := groupings()):
            raise CommandError(f"It can be grouped by {', '.join(known)}.", returncode=REFUSED)
        if options["quotas"]:
            quota_uses = uses(window, timezone.now())
            if options["json"]:
                print_document(
                    self.stdout, {"quotas": QuotaUseSerializer(quota_uses, many=True).data}
                )
                return
            print_lines(self.stdout, _quotas(quota_uses))
        elif options["by"] != JOB:
            if options["json"]:
                print_document(self.stdout, groups_document(options["by"], window))
                return
            print_lines(self.stdout, _groups(options["by"], window))
        else:
            self._jobs(window, options)

    def _jobs(self, window: int, options: dict[str, Any]) -> None:
        given = {
            "days": str(window),
            "sort": options["sort"],
            **{n: options[n] for n in ("cluster", "label") if options[n]},
        }
        filters = GrowthFilters(given, JobGrowth.objects.all())
        try:
            rows = filters.checked()
        except WrongParameters as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        sort = filters.sorting
        jobs = (
            rows.annotate(sort_key=sort.key)
            .order_by(*(key.order_by for key in sort.keys))
            .iterator(2_000)
        )
        if not options["json"]:
            print_lines(self.stdout, _table(jobs))
            return
        for job in jobs:
            print_document(self.stdout, JobGrowthSerializer(job).data)


def _table(jobs: Any) -> Iterator[str]:
    heads = f"{'state':>10}{'a day':>16}{'uploaded':>10}{'':>8}{'unref.':>10}{'p95':>12}"
    yield f"{'':<40}{heads}  time-out"
    for job in jobs:
        sizes = _sizes(job.state_bytes, job.state_bytes_per_day, job.uploaded_bytes)
        change = change_text(job.uploaded_bytes_per_day, job.uploaded_bytes_per_day_before)
        until = Until(job.days_to_timeout, job.days_to_timeout_soonest, job.days_to_timeout_latest)
        timeout = (
            "ended" if job.ended else "?" if job.duration_ms_per_day is None else until_text(until)
        )
        name = f"{job.cluster} {job.name or job.job_id}"[:39]
        unreferenced, duration = bytes_text(job.unreferenced_bytes), duration_text(job.duration_ms)
        yield f"{name:<40}{sizes}{change:>8}{unreferenced:>10}{duration:>12}  {timeout}"


def _sizes(state: float | None, state_per_day: float | None, uploaded: float | None) -> str:
    return f"{bytes_text(state):>10}{per_day(state_per_day):>16}{bytes_text(uploaded):>10}"


def _groups(by: str, window: int) -> Iterator[str]:
    yield f"{'':<40}{'jobs':>6}{'state':>10}{'a day':>16}{'uploaded':>10}{'unref.':>10}"
    for group in groups_by(by, window, timezone.now()):
        figures = group.figures
        sizes = _sizes(figures.state_bytes, figures.state_bytes_per_day, figures.uploaded_bytes)
        yield f"{group.name[:39]:<40}{group.jobs:>6,}{sizes}{bytes_text(figures.unreferenced_bytes):>10}"


def _quotas(quotas: Any) -> Iterator[str]:
    for use in quotas:
        when = until_text(use.until) if use.slope or use.is_reached else "? too few days are known"
        raw = use.replicated.raw(use.used_bytes)
        stored = "" if raw is None else f" ({bytes_text(raw)} raw)"
        yield (
            f"{use.quota}: {bytes_text(use.used_bytes)}{stored} of "
            f"{bytes_text(use.quota.quota_bytes)}, {when}"
        )
