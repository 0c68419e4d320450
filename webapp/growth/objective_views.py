from typing import Any

from django.contrib import messages
from django.db.models import Count, F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from spark_jobs.diagnosis.objective_samples import OBJECTIVE_KINDS
from webapp.accounts.guards import operators_only
from webapp.growth.filters import ObjectiveRecordFilters
from webapp.growth.models import Objective, ObjectiveRecord
from webapp.growth.objectives import set_objective
from webapp.lib.refusals import refusal_as_message

SHOWN = 100
FIELDS = ("name", "kind", "target", "limit_s", "matchers")


@require_GET
def objectives(request: HttpRequest) -> HttpResponse:
    filters = ObjectiveRecordFilters.from_page(request.GET, ObjectiveRecord.objects.all())
    records = (
        filters.qs.select_related("objective")
        .defer("minutes", "hours", "sums")
        .order_by(F("burn").desc(nulls_last=True), F("budget_left").asc(nulls_last=True), "id")
    )
    listed = list(records[: SHOWN + 1])
    # Counted in the records, which a reader's scope restricts.
    jobs = dict(
        ObjectiveRecord.objects.order_by().values_list("objective").annotate(jobs=Count("id"))
    )
    context: dict[str, Any] = {
        "objectives": [
            (objective, OBJECTIVE_KINDS[objective.kind], jobs.get(objective.pk, 0))
            for objective in Objective.objects.order_by("name")
        ],
        "kinds": OBJECTIVE_KINDS,
        "records": [(record, OBJECTIVE_KINDS[record.objective.kind]) for record in listed[:SHOWN]],
        "more": len(listed) > SHOWN,
        "shown": SHOWN,
        "filters": filters,
    }
    return render(request, "growth/objectives.html", context)


@operators_only
@require_POST
def objective_set(request: HttpRequest) -> HttpResponse:
    values = {name: str(request.POST.get(name, ""))[:20_000] for name in FIELDS}
    with refusal_as_message(request):
        row = set_objective(values, request.user.get_username(), timezone.now())
        messages.success(request, gettext("The objective %(row)s is set.") % {"row": row})
    return redirect("objectives")


@operators_only
@require_POST
def objective_remove(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Objective, pk=pk)
    row.delete()
    messages.success(request, gettext("The objective %(row)s is removed.") % {"row": row})
    return redirect("objectives")
