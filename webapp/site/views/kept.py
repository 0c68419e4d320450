"""What Weir keeps, how much it takes, and what is deleted when."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext, ngettext

from ingest.lake.store import KEEP_REPLACED_FILES
from webapp.config.row_retention import audit, notable, routine, runs, sums
from webapp.fleet.pipeline_status import disk_budget
from webapp.lib.exports import export_response
from webapp.lib.translations import gettext_lazy as _
from webapp.pipeline import retention
from webapp.storage.auditing import audit_retention
from webapp.work.models import KeptSize
from webapp.work.spark_job import LOGS_KEPT

COLUMNS = ("area", "name", "size_bytes", "rows", "files", "commits", "oldest_at", "as_of")
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

SETTINGS = {
    routine: "WEIR_KEEP_ROUTINE_DAYS",
    runs: "WEIR_KEEP_RUNS_DAYS",
    notable: "WEIR_KEEP_NOTABLE_DAYS",
    audit: "WEIR_KEEP_AUDIT_DAYS",
    sums: "WEIR_KEEP_SUMS_DAYS",
}


@dataclass(frozen=True)
class Area:
    slug: str
    title: str
    size_bytes: int | None
    share: float | None
    goes: str


@dataclass(frozen=True)
class Deleted:
    """One line of what is deleted when. ``setting`` is the environment variable that changes it."""

    what: str
    after: str
    setting: str = ""


def kept(request: HttpRequest) -> HttpResponse:
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
                _goes(slug),
            )
            for slug, title in AREAS.items()
        ],
        "parts": [
            (title, KeptSize.objects.filter(area=slug))
            for slug, title in (
                ("tables", gettext("Tables of the database")),
                ("lake", gettext("Tables of the lake")),
            )
        ],
        "folders": KeptSize.objects.exclude(area__in=("tables", "lake", "database")),
        "disks": [(str(folder), free_bytes) for folder, free_bytes in disk_budget.disks()],
        "least_free_bytes": settings.WEIR.least_free_mb * 1_000_000,
        "most_kept_bytes": settings.WEIR.most_kept_mb * 1_000_000 or None,
        "stopped": disk_budget.problems(),
        "deleted": list(_deleted()),
    }
    return render(request, "pipeline/kept.html", context)


def export(request: HttpRequest, form: str) -> HttpResponseBase:
    return export_response(
        form, "weir-kept", COLUMNS, KeptSize.objects.values(*COLUMNS).iterator(chunk_size=1_000)
    )


def _goes(area: str) -> str:
    """When something of it is deleted, in a few words."""
    return {
        "database": gettext("rows by age, below"),
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


def _deleted() -> Iterator[Deleted]:
    for rule in (*retention.RULES, *retention.RULES_OF_WEIR):
        yield Deleted(rule.what, _text(rule.kept()), SETTINGS.get(rule.kept, ""))
    yield Deleted(
        gettext("silences that are over"),
        _text(notable()),
        "WEIR_KEEP_NOTABLE_DAYS",
    )
    yield Deleted(
        gettext("loaded runs: never the newest, which the next one needs"),
        _text(runs()),
        "WEIR_KEEP_RUNS_DAYS",
    )
    yield Deleted(
        gettext(
            "lists of files of audits: never those of the newest audit of a root, which plans "
            "are based on"
        ),
        ngettext("%(count)s audit", "%(count)s audits", settings.WEIR.storage_keep_audits)
        % {"count": settings.WEIR.storage_keep_audits},
        "WEIR_STORAGE_KEEP_AUDITS",
    )
    yield Deleted(
        gettext("jobs, chains and doubts of audits: never those of the newest of a root"),
        _text(audit_retention.DETAILS),
    )
    yield Deleted(gettext("figures of audits, then one a day"), _text(audit_retention.EVERY_AUDIT))
    yield Deleted(
        gettext("figures of audits, the last of each day"), _text(audit_retention.HISTORY)
    )
    yield Deleted(
        gettext("run directories: never one that is not loaded, nor the newest"),
        ngettext("%(count)s run", "%(count)s runs", settings.WEIR.keep_runs)
        % {"count": settings.WEIR.keep_runs},
        "WEIR_KEEP_RUNS",
    )
    yield Deleted(
        gettext("checkpoint facts in the lake, with the roll-ups of their day"),
        _text(sums()),
        "WEIR_KEEP_SUMS_DAYS",
    )
    yield Deleted(
        gettext("files of the lake that were merged into others"), _text(KEEP_REPLACED_FILES)
    )


def _text(kept_for: timedelta) -> str:
    hours = kept_for.total_seconds() / 3600
    days = round(hours / 24)
    return (
        ngettext("%(count)s day", "%(count)s days", days) % {"count": days}
        if hours > 24
        else f"{hours:.0f} h"
    )
