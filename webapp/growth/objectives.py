"""Objectives: setting and removing them, and which jobs they are of."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.utils.translation import gettext

from spark_jobs.diagnosis.objective_samples import OBJECTIVE_KINDS
from webapp.fleet.models import Cluster, JobCurrent
from webapp.growth.models import Objective
from webapp.lib import scopes
from webapp.lib.matchers import as_entered, match_each, named_cluster, parse_lines
from webapp.lib.refusals import InputRefused

MOST_OBJECTIVES = 100
LONGEST_LIMIT_S = 7 * 86_400
LEAST_TARGET, MOST_TARGET = 0.5, 0.99999


def set_objective(values: Mapping[str, str], by: str, now: datetime) -> Objective:
    """``values``: name, kind, target in percent, limit_s in seconds and matchers, one a line.
    What was set under this name before is replaced, with what was counted for it.

    Raises :class:`InputRefused`.
    """
    name, kind = values.get("name", "").strip(), values.get("kind", "")
    wrong: dict[str, str] = {}
    if not name or len(name) > 100:
        wrong["name"] = gettext("Give a name of 1 to 100 characters.")
    if kind not in OBJECTIVE_KINDS:
        wrong["kind"] = gettext("Give one of %(values)s.") % {"values": ", ".join(OBJECTIVE_KINDS)}
    elif Objective.objects.exclude(name=name).count() >= MOST_OBJECTIVES:
        wrong["name"] = gettext("There are %(most)s objectives already; remove one first.") % {
            "most": MOST_OBJECTIVES
        }
    if wrong:
        raise InputRefused(wrong)
    matchers = parse_lines(values.get("matchers", ""))
    cluster = named_cluster(matchers)
    needs_limit = OBJECTIVE_KINDS[kind].has_limit
    columns = {
        "kind": kind,
        "target": target_of(values.get("target", "")),
        "limit_ms": _limit_ms(values.get("limit_s", "")) if needs_limit else None,
        "matchers": [matcher.as_json() for matcher in matchers],
        "cluster": cluster,
        "set_by": by[:200],
        "set_at": now,
    }
    with scopes.everything():
        before = Objective.objects.filter(name=name).first()
    if before is not None and not scopes.current().is_everything and before.cluster != cluster:
        raise InputRefused({"name": gettext("This name is taken; give another one.")})
    row, made = Objective.objects.update_or_create(name=name, defaults=columns)
    if not made:
        row.records.all().delete()
    return row


def target_of(text: str) -> float:
    """``99.9`` or ``99.9 %`` → 0.999; raises :class:`InputRefused`."""
    try:
        target = float(text.strip().removesuffix("%").strip()) / 100
    except ValueError:
        target = math.nan
    if not LEAST_TARGET <= target <= MOST_TARGET:
        raise InputRefused(
            {"target": gettext("Give a share from 50 to 99.999 percent, such as 99.9.")}
        )
    return round(target, 7)


def _limit_ms(text: str) -> int:
    limit_s = int(text) if text.strip().isdecimal() and len(text.strip()) < 9 else 0
    if not 1 <= limit_s <= LONGEST_LIMIT_S:
        raise InputRefused(
            {
                "limit_s": gettext("Give a limit from 1 to %(most)s seconds.")
                % {"most": LONGEST_LIMIT_S}
            }
        )
    return limit_s * 1000


def jobs_of(
    objectives: Iterable[Objective], jobs: Iterable[JobCurrent]
) -> dict[int, list[JobCurrent]]:
    """By the id of each objective: those of ``jobs`` that its matchers match."""
    listed = list(jobs)
    of_clusters = dict(Cluster.objects.exclude(labels={}).values_list("name", "labels"))
    labels: list[dict[str, str]] = [
        {
            **{name: str(value) for name, value in of_clusters.get(job.cluster, {}).items()},
            "cluster": job.cluster,
            "job": job.name or job.job_id,
        }
        for job in listed
    ]
    matched: dict[int, list[JobCurrent]] = {}
    for objective in objectives:
        fits = match_each(as_entered(objective.matchers), labels)
        matched[objective.pk] = [job for job, fit in zip(listed, fits, strict=True) if fit]
    return matched
