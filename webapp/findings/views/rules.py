from itertools import groupby
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from spark_jobs.diagnosis.registry import all_rules
from webapp.findings.models import Finding
from webapp.findings.runbooks import runbook
from webapp.findings.thresholds import rows, threshold_row
from webapp.lib.translations import gettext_lazy as _

FAMILIES = {
    "checkpoint": _("Checkpoints"),
    "collect": _("What Weir can see"),
    "data": _("Data"),
    "job": _("Job"),
    "jobmanager": _("JobManager"),
    "join": _("Joins"),
    "memory": _("Memory"),
    "namenode": _("NameNode"),
    "availability": _("Availability"),
    "checkpoint_success": _("Checkpoints that complete"),
    "freshness": _("Freshness"),
    "recovery_point": _("Recovery point"),
    "placement": _("Placement of tasks"),
    "pressure": _("Back-pressure"),
    "replication": _("Copies of checkpoints"),
    "restart": _("Restarts"),
    "restore": _("Restores"),
    "rocksdb": _("RocksDB"),
    "sink": _("Sinks"),
    "source": _("Sources"),
    "start": _("Starts"),
    "scaling": _("Scaling"),
    "state": _("State"),
    "storage": _("Checkpoint storage"),
    "store": _("Object stores"),
    "watermark": _("Watermarks"),
    "weir": "Weir",
}


def rules(request: HttpRequest) -> HttpResponse:
    open_now = dict(Finding.objects.open().order_by().values_list("rule").annotate(Count("id")))
    families = [
        (
            FAMILIES.get(family, family),
            [
                (
                    rule,
                    [threshold_row(threshold, rule.id) for threshold in rule.thresholds],
                    open_now.get(rule.id, 0),
                )
                for rule in family_rules
            ],
        )
        for family, family_rules in groupby(all_rules().values(), key=lambda rule: rule.family)
    ]
    return render(request, "rules/rules.html", {"families": families, "total": len(all_rules())})


def rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    rule_definition = all_rules().get(rule_id)
    if rule_definition is None:
        raise Http404(f"There is no rule called {rule_id[:100]}.")
    context: dict[str, Any] = {
        "rule": rule_definition,
        "runbook": runbook(rule_id),
        "thresholds": rows(rule_definition),
        "open_total": Finding.objects.open().filter(rule=rule_id).count(),
    }
    return render(request, "rules/rule.html", context)
