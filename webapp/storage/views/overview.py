"""All roots: what is live and what is dead in each, over time, and what nobody looks at yet."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from spark_jobs.storage_words import RECENT
from webapp.findings.models import Finding
from webapp.storage.badges import AUDIT_BADGES
from webapp.storage.freshness import root_badge
from webapp.storage.models import StorageAudit, StorageRoot, VerdictFigures
from webapp.storage.newest_audits import latest, latest_audits
from webapp.storage.orphan_proof import together, unreferenced
from webapp.storage.presentation import parts, summed, why_not_cleanable
from webapp.storage.replication_factor import NONE, common, factors_of
from webapp.storage.suggestions import suggestions

AUDITS_SHOWN = 8
SUGGESTIONS_SHOWN = 20


@require_GET
def storage(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    registered = list(StorageRoot.objects.prefetch_related("clusters"))
    figures = {row.root: row for row in latest().select_related("audit").order_by("-bytes", "root")}
    recent = defaultdict(list)
    for verdict_figures in VerdictFigures.objects.filter(audit__in=latest_audits(), verdict=RECENT):
        recent[verdict_figures.audit_id, verdict_figures.root].append(verdict_figures)
    replicated = factors_of(registered)
    rows = [
        _row(root, figures.pop(root.uri, None), recent, now) | {"replicated": replicated[root.uri]}
        for root in registered
    ]
    rows += [_row(None, figure, recent, now) for figure in figures.values()]
    audited = [row["figures"] for row in rows if row["figures"]]
    totals = summed(audited)
    suggested = suggestions()
    of_roots = Finding.objects.open().filter(rule__startswith="storage.", data__root__isnull=False)
    # The gravest of each comes last.
    worst = dict(of_roots.order_by("severity_rank").values_list("data__root", "severity_rank"))
    context: dict[str, Any] = {
        "rows": sorted(
            rows,
            key=lambda row: (
                -worst.get(row["uri"], 0),
                -(row["figures"].bytes if row["figures"] else 0),
            ),
        ),
        "totals": totals,
        "unreferenced": together(row["unreferenced"] for row in rows if row["unreferenced"]),
        "parts": parts(totals),
        # Of all roots together raw bytes are known where every one has the same factor; else each
        # row has its own.
        "replicated": common(replicated.get(row["uri"], NONE) for row in rows if row["figures"]),
        "audited": bool(audited),
        "oldest": min((row.as_of for row in audited), default=None),
        "audits": [
            (audit, AUDIT_BADGES[audit.state])
            for audit in StorageAudit.objects.order_by("-id")[:AUDITS_SHOWN]
        ],
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
    every_h = root.audit_every_h if root else None
    withheld = figures.audit.withheld.get(figures.root, "") if figures else ""
    return {
        "root": root,
        "uri": root.uri if root else figures.root,
        "figures": figures,
        "parts": parts(figures) if figures else (),
        "unreferenced": unreferenced(figures.audit, recent[figures.audit_id, figures.root], every_h)
        if figures
        else None,
        "badge": root_badge(root, figures, now),
        "why": why_not_cleanable(figures.not_cleanable, withheld) if figures else [],
    }
