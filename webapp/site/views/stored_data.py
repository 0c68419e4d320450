"""The page of stored data and their sizes."""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, ngettext

from ingest.lake.store import KEEP_REPLACED_FILES
from webapp.fleet.pipeline_status import disk_budget
from webapp.lib.translations import gettext_lazy as _
from webapp.work.models import KeptSize
from webapp.work.spark_job import LOGS_KEPT

AREAS = {
    "database": _("Database"),
    "lake": _("Lake"),
    "runs": _("Run directories"),
    "reports": _("Reports"),
    "plans": _("Clean-up plans and journals"),
    "logs": _("Logs"),
    "pushed": _("Lines and samples that wait for the collector"),
    "other": _("Everything else in WEIR_HOME"),
}


@dataclass(frozen=True)
class Area:
    slug: str
    title: str
    size_bytes: int | None
    share: float | None
    expires: str


def stored_data(request: HttpRequest) -> HttpResponse:
    sizes = dict(KeptSize.objects.order_by().values_list("area").annotate(total=Sum("size_bytes")))
    in_all = sum(size or 0 for area, size in sizes.items() if area != "tables")
    context = {
        "in_all": in_all if sizes else None,
        "as_of": KeptSize.objects.order_by("as_of").values_list("as_of", flat=True).first(),
        "areas": [
            Area(
                slug,
                title,
                sizes.get(slug),
                (sizes.get(slug) or 0) / in_all if in_all else None,
                _expiry(slug),
            )
            for slug, title in AREAS.items()
        ],
        "disks": [(str(folder), free_bytes) for folder, free_bytes in disk_budget.disks()],
        "least_free_bytes": settings.WEIR.least_free_mb * 1_000_000,
        "most_kept_bytes": settings.WEIR.most_kept_mb * 1_000_000 or None,
        "stopped": disk_budget.problems(),
    }
    return render(request, "pipeline/kept.html", context)


def _expiry(area: str) -> str:
    return {
        "database": gettext("rows by age"),
        "lake": gettext("replaced files after %(kept_for)s; rows stay")
        % {"kept_for": _text(KEEP_REPLACED_FILES)},
        "runs": gettext("except the last %(keep_runs)s cycles and %(keep_audits)s audits")
        % {"keep_runs": settings.WEIR.keep_runs, "keep_audits": settings.WEIR.storage_keep_audits},
        "reports": gettext("never: by hand"),
        "plans": gettext("never: they are the proof of what was moved"),
        "logs": gettext(
            "of Spark jobs: except the last %(kept)s; others are truncated as they grow"
        )
        % {"kept": LOGS_KEPT},
        "pushed": gettext("when they were read"),
        "other": gettext("never"),
    }[area]


def _text(kept_for: timedelta) -> str:
    hours = kept_for.total_seconds() / 3600
    days = round(hours / 24)
    return (
        ngettext("%(count)s day", "%(count)s days", days) % {"count": days}
        if hours > 24
        else f"{hours:.0f} h"
    )
