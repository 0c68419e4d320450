from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ingest.messages import join_messages
from ingest.storage.plan_folder import PlanFolder
from spark_jobs.storage_words import KINDS, REASONS
from webapp.accounts.guards import operators_only
from webapp.accounts.roles import may_operate
from webapp.cleanup import orders, planning
from webapp.cleanup.badges import outcome_badge, plan_badge
from webapp.cleanup.choices import PlanState
from webapp.cleanup.entries import SCHEMA
from webapp.cleanup.errors import CleanupError
from webapp.cleanup.filters import PlanFilters
from webapp.cleanup.journal import APPLY, PURGE, UNDO, VERBS, Journal, Row
from webapp.cleanup.manifest import PlanManifest
from webapp.cleanup.models import AT_WORK, CleanupPlan
from webapp.cleanup.outcomes import SENTENCES, WITHHELD, FileOutcome
from webapp.cleanup.plan_reader import reader_of
from webapp.lib.exports import export_response
from webapp.lib.keysets import page
from webapp.lib.refusals import ActionRefused, refusal_as_message
from webapp.lib.row_numbers import row_number
from webapp.storage.models import StorageAudit

PLANS_A_PAGE = 25
FILES_SHOWN = 50


@require_GET
def plans(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    filters = PlanFilters.from_page(request.GET, CleanupPlan.objects.all())
    shown = page(filters.qs, filters.order, request.GET.get("cursor", ""), PLANS_A_PAGE)
    audit = StorageAudit.objects.filter(files_kept=True).newest()
    context = {
        "filters": filters,
        "page": shown,
        "rows": [(plan, plan_badge(plan, expired=plan.is_expired(now))) for plan in shown.rows],
        "audit": audit,
    }
    return render(request, "storage/cleanup/plans.html", context)


@operators_only
@require_POST
def make(request: HttpRequest) -> HttpResponse:
    roots = [root[:1000] for root in request.POST.getlist("root") if "\x00" not in root]
    try:
        plan = planning.request_plan(
            roots,
            waste="waste" in request.POST,
            user=request.user,
            name=request.user.get_username(),
            at=timezone.now(),
        )
    except ActionRefused as refused:
        messages.error(request, str(refused))
        return redirect("cleanup-plans")
    orders.wake(plan, timezone.now())
    return redirect("cleanup-plan", plan.pk)


@require_GET
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    plan = _plan(pk)
    return render(
        request,
        "storage/cleanup/plan.html",
        {**_state(request, plan), **_contents(request, plan)},
    )


@require_GET
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that changes. At the end the browser reloads the page."""
    plan = _plan(pk)
    response = render(request, "storage/cleanup/_progress.html", _state(request, plan))
    if plan.state not in AT_WORK:
        response["HX-Refresh"] = "true"
    return response


@require_POST
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    plan = _plan(pk)
    if request.POST.get("name", "").strip() != plan.short_name:
        messages.error(
            request,
            gettext("Type %(short_name)s to approve the plan.") % {"short_name": plan.short_name},
        )
        return redirect("cleanup-plan", pk)
    return _order_and_redirect(
        request,
        plan,
        lambda: orders.approve(plan, request.user, timezone.now()),
        gettext("is approved; nothing is moved yet"),
    )


@operators_only
@require_POST
def order(request: HttpRequest, pk: int | str, verb: str) -> HttpResponse:
    plan, name = _plan(pk), request.user.get_username()
    words = {
        "apply": gettext("is being applied: first everything is audited again"),
        "undo": gettext("is being undone"),
        "purge": gettext("is being purged: first everything is audited again"),
        "withdraw": gettext("is withdrawn; nobody can apply it any more"),
    }
    return _order_and_redirect(
        request,
        plan,
        lambda: orders.order(plan, verb, name, timezone.now()),
        words[verb],
    )


@require_GET
def export(request: HttpRequest, pk: int | str) -> HttpResponseBase:
    plan = _plan(pk)
    return export_response(
        f"weir-plan-{plan.short_name}",
        SCHEMA.names,
        reader_of(plan).rows() if plan.name else (),
    )


@require_GET
def journal_export(request: HttpRequest, pk: int | str, verb: str) -> HttpResponseBase:
    plan = _plan(pk)
    return export_response(
        f"weir-plan-{plan.short_name}-{verb}",
        [field.name for field in fields(Row)],
        _journal_rows(plan, verb),
    )


def _order_and_redirect(
    request: HttpRequest, plan: CleanupPlan, act: Callable[[], None], word: str
) -> HttpResponse:
    with refusal_as_message(request):
        act()
        messages.success(
            request,
            gettext("Plan %(short_name)s %(word)s.")
            % {"short_name": plan.short_name, "word": word},
        )
    return redirect("cleanup-plan", plan.pk)


def _plan(pk: int | str) -> CleanupPlan:
    return get_object_or_404(CleanupPlan.objects.select_related("audit"), pk=row_number(pk))


def _state(request: HttpRequest, plan: CleanupPlan) -> dict[str, Any]:
    now = timezone.now()
    expired = plan.is_expired(now)
    may_order = may_operate(request.user)
    words = {APPLY: gettext("Applied"), UNDO: gettext("Undone"), PURGE: gettext("Purged")}
    done = [
        (words[verb], counts, _outcomes(counts)) for verb in VERBS if (counts := plan.counts(verb))
    ]
    applied = plan.counts(APPLY)
    is_over = plan.state in (PlanState.QUARANTINED, PlanState.HALTED) and (
        plan.purge_at is None or plan.purge_at <= now
    )
    return {
        "plan": plan,
        "badge": plan_badge(plan, expired=expired),
        "expired": expired,
        "done": done,
        "at_work": plan.state in AT_WORK,
        "may_approve": orders.may_approve(request.user)
        and plan.state == PlanState.PLANNED
        and not expired
        and bool(plan.files),
        "moved": {
            "files": applied.get(FileOutcome.QUARANTINED, 0),
            "bytes": applied.get(f"{FileOutcome.QUARANTINED}_bytes", 0),
        },
        "orders": list(_orders(plan, is_over=is_over, expired=expired)) if may_order else [],
    }


def _orders(
    plan: CleanupPlan, *, is_over: bool, expired: bool
) -> Iterator[tuple[str, str, str, str, str]]:
    """Verb, tone, name, button text and explanation of each possible order."""
    state = plan.state
    if state in (PlanState.APPROVED, PlanState.HALTED) and plan.approved_at and not expired:
        means = gettext(
            "First everything is audited again. Files that may still be removed are moved to "
            "quarantine, at most %(files_per_s)s a second; what changed is skipped."
        )
        pace = f"{settings.WEIR.cleanup_files_per_s:,.0f}"
        yield (
            "apply",
            "primary",
            gettext("Apply"),
            gettext("Apply the plan"),
            means % {"files_per_s": pace},
        )
    if state in (PlanState.APPLYING, PlanState.HALTED, PlanState.QUARANTINED):
        means = gettext(
            "Everything that is in quarantine is put back where it was. The plan cannot be "
            "applied again."
        )
        yield "undo", "", gettext("Undo"), gettext("Undo the plan"), means
    if state == PlanState.QUARANTINED and is_over and plan.trouble:
        means = gettext(
            "After a fresh audit, what is in quarantine is deleted for good unless a checkpoint "
            "refers to any of it."
        )
        yield "purge", "danger", gettext("Purge again"), gettext("Purge the quarantine"), means
    if state in (PlanState.PLANNED, PlanState.APPROVED) and not expired:
        means = gettext("Nobody can apply it any more. Nothing else happens.")
        yield "withdraw", "", gettext("Withdraw"), gettext("Withdraw the plan"), means


def _outcomes(counts: dict[str, Any]) -> list[tuple[Any, str, int, int]]:
    return [
        (
            outcome_badge(outcome),
            SENTENCES[outcome],
            counts[outcome],
            counts.get(f"{outcome}_bytes", 0),
        )
        for outcome in FileOutcome
        if counts.get(outcome)
    ]


def _contents(request: HttpRequest, plan: CleanupPlan) -> dict[str, Any]:
    if not plan.name:
        return {}
    reader = reader_of(plan)
    journals = [verb for verb in VERBS if plan.counts(verb)]
    verb = request.GET.get("verb", "")
    if verb not in journals:
        verb = journals[-1] if journals else ""
    try:
        manifest = reader.manifest
        files = list(
            islice(chain.from_iterable(map(reader.page, range(manifest.chunks))), FILES_SHOWN)
        )
        journal = list(islice(_journal_rows(plan, verb), FILES_SHOWN)) if verb else []
    except (CleanupError, OSError) as error:
        return {"damaged": str(error)}
    return {
        "manifest": manifest,
        "searched": [
            (audit, datetime.fromisoformat(audit.as_of) if audit.as_of else None)
            for audit in manifest.audits
        ],
        "file_rows": [(row, _short(row["path"], manifest), _why(row)) for row in files],
        "withheld": [
            (count, WITHHELD.get(reason, reason))
            for reason, count in manifest.withheld_files.items()
        ],
        "journal_rows": [
            (
                row,
                _short(row["path"], manifest),
                outcome_badge(row["outcome"]),
                SENTENCES.get(row["outcome"], ""),
            )
            for row in journal
        ],
        "verb": verb,
        "journals": journals,
    }


def _short(path: str, manifest: PlanManifest) -> str:
    return path.removeprefix(f"{manifest.roots[0].uri}/") if len(manifest.roots) == 1 else path


def _why(row: dict[str, Any]) -> str:
    sentences = [
        REASONS.get(row["verdict"], {}).get(row["reason"], row["reason"]),
        KINDS.get(row["kind"] or "", ""),
    ]
    return join_messages(sentences, " ")


def _journal_rows(plan: CleanupPlan, verb: str) -> Iterator[dict[str, Any]]:
    journal = Journal(PlanFolder(plan.folder), plan.name or "", verb)
    for chunk in journal.finished_chunks():
        for row in journal.read(chunk).rows:
            yield asdict(row)
