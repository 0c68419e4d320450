from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from spark_jobs.storage_words import RECENT, VERDICTS
from webapp.charts.answers import answer, empty_answer
from webapp.charts.storage import Point, history
from webapp.findings.models import Finding
from webapp.storage.badges import root_badge
from webapp.storage.models import StorageRoot, VerdictFigures
from webapp.storage.newest_audits import latest, latest_audits, loaded_figures
from webapp.storage.orphan_proof import summed_unreferenced, unreferenced
from webapp.storage.presentation import MISSING, parts, summed, why_not_cleanable
from webapp.storage.suggestions import suggestions
from webapp.storage.views.parameters import parameter

MOST_AUDITS = 2_000
_NAMES = [f"{name}_{unit}" for name in (*VERDICTS, MISSING) for unit in ("bytes", "files")]


@require_GET
def over_time(request: HttpRequest) -> HttpResponse:
    """The chart of one root or of all roots: at each audit, the last figures of every root."""
    uri = parameter(request, "uri")
    rows = loaded_figures().order_by("-as_of", "-id")
    if uri:
        rows = rows.filter(root=uri)
    oldest_first = list(reversed(rows.values("root", "as_of", *_NAMES)[:MOST_AUDITS]))
    points = _points(oldest_first)
    if len(points) < 2:
        text = gettext("Totals show over time from the second audit on.")
        return JsonResponse(empty_answer(gettext("No trend yet"), text))
    note = gettext("%(points)s audits.") % {"points": f"{len(points):,}"}
    return JsonResponse(answer(history(points), note))


def _points(rows: list[dict[str, Any]]) -> list[Point]:
    last_rows: dict[str, dict[str, Any]] = {}
    rows_by_instant: dict[datetime, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        rows_by_instant[row["as_of"]].append(row)
    points: list[Point] = []
    for at, new_rows in rows_by_instant.items():
        last_rows |= {row["root"]: row for row in new_rows}
        sums = {name: sum(row[name] for row in last_rows.values()) for name in _NAMES}
        points.append((at, sums))
    return points


SUGGESTIONS_SHOWN = 20


@require_GET
def storage(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    registered = list(StorageRoot.objects.prefetch_related("clusters"))
    figures = {row.root: row for row in latest().select_related("audit").order_by("-bytes", "root")}
    recent = defaultdict(list)
    for verdict_figures in VerdictFigures.objects.filter(audit__in=latest_audits(), verdict=RECENT):
        recent[verdict_figures.audit_id, verdict_figures.root].append(verdict_figures)
    rows = [_row(root, figures.pop(root.uri, None), recent, now) for root in registered]
    rows += [_row(None, figure, recent, now) for figure in figures.values()]
    audited = [row["figures"] for row in rows if row["figures"]]
    totals = summed(audited)
    suggested = suggestions()
    findings = Finding.objects.open().filter(rule__startswith="storage.", data__root__isnull=False)
    # The worst finding of each root comes last, so the dictionary keeps it.
    worst = dict(findings.order_by("severity_rank").values_list("data__root", "severity_rank"))
    context: dict[str, Any] = {
        "rows": sorted(
            rows,
            key=lambda row: (
                -worst.get(row["uri"], 0),
                -(row["figures"].bytes if row["figures"] else 0),
            ),
        ),
        "totals": totals,
        "unreferenced": summed_unreferenced(
            row["unreferenced"] for row in rows if row["unreferenced"]
        ),
        "parts": parts(totals),
        "audited": bool(audited),
        "oldest": min((row.as_of for row in audited), default=None),
        "suggestions": suggested[:SUGGESTIONS_SHOWN],
        "suggested": len(suggested),
    }
    return render(request, "storage/storage.html", context)


def _row(
    root: StorageRoot | None,
    figures: Any,
    recent: Mapping[tuple[str, str], list[VerdictFigures]],
    now: datetime,
) -> dict[str, Any]:
    withheld = figures.audit.withheld.get(figures.root, "") if figures else ""
    return {
        "root": root,
        "uri": root.uri if root else figures.root,
        "figures": figures,
        "parts": parts(figures) if figures else (),
        "unreferenced": unreferenced(figures.audit, recent[figures.audit_id, figures.root])
        if figures
        else None,
        "badge": root_badge(figures, now),
        "why": why_not_cleanable(figures.not_cleanable, withheld) if figures else [],
    }
