import math
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from spark_jobs.diagnosis import registry
from webapp.alerting import evaluation_hint
from webapp.alerting.models import RuleSetting
from webapp.findings.models import Finding, ThresholdOverride
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.refusals import InputRefused

LONGEST_HOLD_S = 7 * 86_400
COLUMNS = ("severity", "alerts", "hold_before_s", "hold_after_s")


def save(rule: str, cluster: str, job_id: str, values: Mapping[str, Any], user: Any) -> RuleSetting:
    """Replaces the setting of this scope. ``values``: :data:`COLUMNS`, already checked by the form.
    Raises :class:`InputRefused`.
    """
    columns = {name: values.get(name) for name in COLUMNS} | {
        "severity": values.get("severity") or ""
    }
    if all(value in (None, "") for value in columns.values()):
        raise InputRefused(
            gettext(
                "Nothing is set: choose a severity, a hold time, or whether it alerts. For the "
                "defaults, remove what is set."
            )
        )
    job_name = _name_in_scope(cluster, job_id)
    columns |= {"job_name": job_name, "author_name": user.get_username()[:200]}
    with transaction.atomic():
        if job_name:
            same_job = RuleSetting.objects.filter(rule=rule, cluster=cluster, job_name=job_name)
            same_job.exclude(job_id=job_id).delete()
        row, _is_new = RuleSetting.objects.update_or_create(
            rule=rule, cluster=cluster, job_id=job_id, defaults=columns
        )
        mark_for_evaluation(row)
    return row


def remove(row: RuleSetting) -> None:
    with transaction.atomic():
        row.delete()
        mark_for_evaluation(row)


def set_thresholds(values: Mapping[str, Any], cluster: str, job_id: str, user: Any) -> None:
    """``values``: key → number or its text; used from the next cycle on. Raises
    :class:`InputRefused`.
    """
    thresholds = {threshold.key: threshold for threshold in registry.all_thresholds()}
    name = _name_in_scope(cluster, job_id)
    if not values:
        raise InputRefused(gettext("No threshold was changed."))
    numbers: dict[str, float] = {}
    for key, text in values.items():
        threshold = thresholds.get(key)
        if threshold is None:
            raise InputRefused(
                gettext("There is no threshold called %(key)s.") % {"key": key[:100]}
            )
        try:
            numbers[key] = float(text)
        except (TypeError, ValueError):
            numbers[key] = math.nan
        if not threshold.allows(numbers[key]):
            raise InputRefused(
                gettext("%(key)s must be a number from %(minimum)s to %(maximum)s %(unit)s.")
                % {
                    "key": key,
                    "minimum": f"{threshold.minimum:g}",
                    "maximum": f"{threshold.maximum:g}",
                    "unit": threshold.unit,
                }
            )
    with transaction.atomic():
        if name:
            ThresholdOverride.objects.filter(
                key__in=numbers, cluster=cluster, job_name=name
            ).exclude(job_id=job_id).delete()
        for key, value in numbers.items():
            ThresholdOverride.objects.update_or_create(
                key=key,
                cluster=cluster,
                job_id=job_id,
                defaults={"value": value, "author": user, "job_name": name},
            )


def _name_in_scope(cluster: str, job_id: str) -> str:
    """The job's name; "" without a job or name. Raises :class:`InputRefused`."""
    if job_id:
        job = JobCurrent.objects.filter(cluster=cluster, job_id=job_id).only("name").first()
        if job is None:
            raise InputRefused(
                gettext("There is no job %(job_id)s of cluster %(cluster)s.")
                % {"job_id": job_id[:64], "cluster": cluster[:100] or "?"}
            )
        return job.name or ""
    if cluster and not job_id and not Cluster.objects.filter(name=cluster).exists():
        raise InputRefused(
            gettext("There is no cluster called %(cluster)s.") % {"cluster": cluster[:100]}
        )
    return ""


def mark_for_evaluation(row: RuleSetting) -> None:
    Finding.objects.open().filter(row.in_scope, rule=row.rule).update(to_alert=True)
    evaluation_hint.wake()
