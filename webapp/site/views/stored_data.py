"""The page of stored data and their sizes."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from webapp.fleet.pipeline_status import disk_budget
from webapp.work.models import KeptSize


def stored_data(request: HttpRequest) -> HttpResponse:
    sizes = {row.area: row for row in KeptSize.objects.all()}
    context = {
        "in_all": disk_budget.kept_bytes() if sizes else None,
        "as_of": min((row.as_of for row in sizes.values()), default=None),
        "areas": [(title, sizes.get(area), expiry) for area, (title, expiry) in _areas().items()],
        "disks": [(str(folder), free_bytes) for folder, free_bytes in disk_budget.disks()],
        "least_free_bytes": settings.WEIR.least_free_mb * 1_000_000,
        "most_kept_bytes": settings.WEIR.most_kept_mb * 1_000_000 or None,
        "stopped": disk_budget.problems(),
    }
    return render(request, "pipeline/kept.html", context)


def _areas() -> dict[str, tuple[str, str]]:
    """Area → title, and what is deleted of it."""
    runs = gettext("except the last %(keep_runs)s cycles and %(keep_audits)s audits") % {
        "keep_runs": settings.WEIR.keep_runs,
        "keep_audits": settings.WEIR.storage_keep_audits,
    }
    return {
        "database": (gettext("Database"), gettext("rows by age")),
        "lake": (gettext("Lake"), gettext("replaced files after a day; rows stay")),
        "runs": (gettext("Run directories"), runs),
        "plans": (
            gettext("Clean-up plans and journals"),
            gettext("never: they are the proof of what was moved"),
        ),
        "logs": (gettext("Logs"), gettext("the oldest lines, as they grow")),
        "pushed": (
            gettext("Lines and samples that wait for the collector"),
            gettext("when they were read"),
        ),
        "other": (gettext("Everything else in WEIR_HOME"), gettext("never")),
    }
