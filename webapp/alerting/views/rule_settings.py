from collections.abc import Iterator
from typing import Any

from django import forms
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from spark_jobs.diagnosis.registry import all_rules, all_thresholds
from webapp.accounts.guards import operators_only
from webapp.alerting import setting_actions
from webapp.alerting.models import RuleSetting
from webapp.alerting.policies import Policies
from webapp.findings.badges import severity_badge
from webapp.findings.choices import Severity
from webapp.findings.figures import figure_text
from webapp.findings.models import ThresholdOverride
from webapp.findings.thresholds import rows
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.refusals import ActionRefused, refusal_as_message
from webapp.lib.row_numbers import row_number
from webapp.lib.translations import gettext_lazy as _

MOST_LISTED = 500


class RuleSettingForm(forms.Form):
    """Empty fields inherit from the wider scope."""

    severity = forms.ChoiceField(
        required=False,
        choices=[("", _("as the rule says")), *Severity.choices],
        label=_("Severity"),
        help_text=_("Findings below a warning do not alert."),
    )
    alerts = forms.NullBooleanField(
        required=False,
        label=_("Alerts"),
        widget=forms.Select(
            choices=[("", _("as set wider")), ("true", _("yes")), ("false", _("no"))]
        ),
    )
    hold_before_s = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=setting_actions.LONGEST_HOLD_S,
        label=_("Seconds before it fires"),
        help_text=_("seen for so long"),
    )
    hold_after_s = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=setting_actions.LONGEST_HOLD_S,
        label=_("Seconds before it is resolved"),
        help_text=_("gone for so long"),
    )


@require_GET
def rule_settings(request: HttpRequest) -> HttpResponse:
    units = {threshold.key: threshold.unit for threshold in all_thresholds()}
    setting_rows = list(RuleSetting.objects.all()[:MOST_LISTED])
    overrides = ThresholdOverride.objects.select_related("author").order_by(
        "key", "cluster", "job_id"
    )[:MOST_LISTED]
    context = {
        "settings": [
            (row, severity_badge(row.severity) if row.severity else None) for row in setting_rows
        ],
        "thresholds": [
            (
                row,
                figure_text(row.value, units.get(row.key, "")),
                row.key.rpartition(".")[0],
                row.scope,
            )
            for row in overrides
        ],
        "rules": all_rules().values(),
    }
    return render(request, "alerting/settings.html", context)


@operators_only
@require_http_methods(["GET", "POST"])
def rule_setting(request: HttpRequest) -> HttpResponse:
    rule, cluster, job_id = _scope_of(request.POST if request.method == "POST" else request.GET)
    rule_definition = all_rules().get(rule)
    if rule_definition is None:
        raise Http404(f"There is no rule called {rule}.")
    job = (
        JobCurrent.objects.filter(cluster=cluster, job_id=job_id)
        .only("name", "job_id", "cluster")
        .first()
        if job_id
        else None
    )
    same_job = Q(job_name=job.name) if job and job.name else Q(job_id=job_id)
    current = RuleSetting.objects.filter(same_job, rule=rule, cluster=cluster).first()
    form = RuleSettingForm(
        request.POST if request.method == "POST" else None,
        initial={name: getattr(current, name) for name in setting_actions.COLUMNS}
        if current
        else {},
    )
    context: dict[str, Any] = {
        "form": form,
        "rule": rule_definition,
        "cluster": cluster,
        "job": job,
        "job_id": job_id,
        "clusters": list(Cluster.objects.values_list("name", flat=True)),
        "in_force": Policies().rule_policy(rule, cluster, job_id, job.name if job else None),
        "thresholds": rows(rule_definition),
    }
    if request.method == "POST" and form.is_valid():
        try:
            setting_actions.save(rule, cluster, job_id, form.cleaned_data, request.user)
        except ActionRefused as refused:
            form.add_error(None, str(refused))
        else:
            return redirect("alert-settings")
    return render(request, "alerting/setting_form.html", context)


@operators_only
@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    setting_actions.remove(get_object_or_404(RuleSetting, pk=row_number(pk)))
    return redirect("alert-settings")


@operators_only
@require_POST
def threshold_save(request: HttpRequest) -> HttpResponse:
    """Empty fields change nothing."""
    rule, cluster, job_id = _scope_of(request.POST)
    values = {
        key: str(value)
        for key, value in request.POST.items()
        if key.startswith(f"{rule}.") and value
    }
    with refusal_as_message(request):
        setting_actions.set_thresholds(values, cluster, job_id, request.user)
    return redirect("alert-settings")


@operators_only
@require_POST
def threshold_remove(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(ThresholdOverride, pk=row_number(pk)).delete()
    return redirect("alert-settings")


def _scope_of(parameters: QueryDict) -> Iterator[str]:
    """Rule, cluster and job id."""
    return (
        parameters.get(name, "")[:100].replace("\x00", "") for name in ("rule", "cluster", "job_id")
    )
