from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from spark_jobs.storage_words import TWO_NAMES
from webapp.findings.badges import SEVERITY_BADGES
from webapp.findings.models import Finding
from webapp.lib import scopes
from webapp.lib.badges import as_far_as_known
from webapp.lib.keysets import BadCursor, KeysetColumn, Page, page
from webapp.lib.translations import gettext_lazy as _
from webapp.storage import statements
from webapp.storage.badges import AUDIT_BADGES, NO, PLAIN_NO, answer, is_known, is_late, root_badge
from webapp.storage.models import (
    AuditDoubt,
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    RootFigures,
    StorageAudit,
    StorageRoot,
    VerdictFigures,
)
from webapp.storage.newest_audits import latest_of
from webapp.storage.orphan_proof import forecast, unreferenced
from webapp.storage.presentation import (
    parts,
    reasons,
    second_names,
    shown_doubt,
    why_not_cleanable,
)
from webapp.storage.views.parameters import parameter

ROWS_A_PAGE = 25
DOUBTS_SHOWN = 100
MOST_LINKS = 100
STATEMENTS_SHOWN = 100
FINDINGS_SHOWN = 12
JOB_SORTS = {
    "size": KeysetColumn("bytes", descending=True),
    "orphans": KeysetColumn("orphan_bytes", descending=True),
    "waste": KeysetColumn("retained_waste_bytes", descending=True),
    "missing": KeysetColumn("missing_files", descending=True),
}
SORT_TITLES = {
    "size": _("size"),
    "orphans": _("orphans"),
    "waste": _("waste"),
    "missing": _("missing"),
}


@require_GET
def root(request: HttpRequest) -> HttpResponse:
    uri = parameter(request, "uri")
    registered = StorageRoot.objects.prefetch_related("clusters").filter(uri=uri).first()
    figures, now = latest_of(uri), timezone.now()
    if registered is None and figures is None:
        raise Http404(
            gettext("%(uri)s is not a registered root, and no audit has looked at it.")
            % {"uri": uri[:200] or "This"}
        )
    context: dict[str, Any] = {
        "uri": uri,
        "root": registered,
        "figures": figures,
        "badge": root_badge(figures, now),
        "running": _unfinished_audit(uri),
        "query_uri": urlencode({"uri": uri}),
    }
    if figures is not None:
        is_current = is_known(figures, now)
        context |= {
            "known": is_current,
            "late": is_late(figures, now),
            **_audit_context(request, figures, registered, is_current),
        }
    return render(request, "storage/root.html", context)


def _unfinished_audit(uri: str) -> Any:
    """The newest audit of the root with its badge; None if that audit is loaded."""
    newest = next(
        (audit for audit in StorageAudit.objects.order_by("-id")[:20] if uri in audit.roots), None
    )
    if newest is None or newest.state == "loaded":
        return None
    return newest, AUDIT_BADGES[newest.state]


def _audit_context(
    request: HttpRequest, figures: RootFigures, registered: StorageRoot | None, is_current: bool
) -> dict[str, Any]:
    audit = figures.audit
    verdicts = list(
        VerdictFigures.objects.filter(audit=audit, root=figures.root).exclude(verdict="live")
    )
    jobs = JobStorage.objects.filter(audit=audit, root=figures.root)
    links = list(
        ChainLink.objects.filter(audit=audit, root=figures.root).order_by("-bytes", "id")[
            :MOST_LINKS
        ]
    )
    sort = request.GET.get("sort", "")
    sort = sort if sort in JOB_SORTS else "size"
    job_page = _page(
        jobs, (JOB_SORTS[sort], KeysetColumn("id", descending=True)), request.GET.get("jobs", "")
    )
    in_root = {"audit": audit, "root": figures.root}
    largest_first = (KeysetColumn("bytes", descending=True), KeysetColumn("id", descending=True))
    checkpoint_page = _page(
        CheckpointStorage.objects.filter(**in_root),
        largest_first,
        request.GET.get("checkpoints", ""),
    )
    missing_page = _page(
        MissingFile.objects.filter(**in_root),
        (KeysetColumn("superseded"), KeysetColumn("id")),
        request.GET.get("missing", ""),
    )
    valid_statements = (
        statements.of_root(figures.root, STATEMENTS_SHOWN + 1)
        if scopes.current().is_everything
        else []
    )
    doubts = list(
        AuditDoubt.objects.filter(audit=audit).order_by("-blocked_bytes", "id")[: DOUBTS_SHOWN + 1]
    )
    return {
        "audit": audit,
        "parts": parts(figures),
        "why": [
            *why_not_cleanable(figures.not_cleanable, audit.withheld.get(figures.root, "")),
            *(second_names(audit, figures.root) if TWO_NAMES in figures.not_cleanable else ()),
        ],
        "reasons": reasons(verdicts),
        "unreferenced": unreferenced(audit, verdicts),
        "forecast": forecast(audit, verdicts),
        "counts": registered is not None
        and registered.attested_at is not None
        and registered.attested_at <= figures.as_of
        and "not_attested" not in figures.not_cleanable,
        "jobs": job_page,
        "job_rows": [(job, parts(job)) for job in job_page.rows],
        "sort": sort,
        "sorts": SORT_TITLES,
        "checkpoints": checkpoint_page,
        "checkpoint_rows": [_checkpoint(row, is_current) for row in checkpoint_page.rows],
        "missing": missing_page,
        "links": links,
        "findings": _findings(figures.root),
        "doubts": [shown_doubt(row) for row in doubts[:DOUBTS_SHOWN]],
        "statements": valid_statements[:STATEMENTS_SHOWN],
        "more_statements": len(valid_statements) > STATEMENTS_SHOWN,
        "more_doubts": len(doubts) > DOUBTS_SHOWN,
    }


def _findings(uri: str) -> list[Any]:
    findings = (
        Finding.objects.open().filter(rule__startswith="storage.", data__root=uri).worst_first()
    )
    return [
        (finding, SEVERITY_BADGES.get(finding.severity))
        for finding in findings.defer("evidence", "related", "cause")[:FINDINGS_SHOWN]
    ]


def _checkpoint(row: CheckpointStorage, is_current: bool) -> dict[str, Any]:
    answers = {
        "self_contained": answer(row.self_contained, PLAIN_NO),
        "resolvable": answer(row.resolvable, NO),
    }
    return {
        "row": row,
        **{name: as_far_as_known(badge, is_current) for name, badge in answers.items()},
    }


def _page(rows: "QuerySet[Any]", keys: tuple[KeysetColumn, ...], cursor: str) -> Page[Any]:
    try:
        return page(rows, keys, cursor, ROWS_A_PAGE)
    except BadCursor:
        return page(rows, keys, "", ROWS_A_PAGE)
