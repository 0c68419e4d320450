"""Sets objectives, finds their jobs, and counts good and bad units over windows. A series has rows
[number of a minute or hour, good, bad] in order.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from spark_jobs.diagnosis.objective_samples import BURN_WINDOWS, OBJECTIVE_KINDS, Counts
from webapp.fleet.models import Cluster, JobCurrent
from webapp.growth.models import Objective
from webapp.lib import scopes
from webapp.lib.matchers import as_entered, match_each, named_cluster, parse_lines
from webapp.lib.refusals import InputRefused

HOURS_KEPT = 30 * 24
MINUTES_KEPT = max(window.short_min for window in BURN_WINDOWS) + 60
"""The longest short window, and an hour more, so that ended hours are complete."""
FULL_HOURS = MINUTES_KEPT // 60 - 1
"""Complete hours that the stored minutes always contain."""
BUDGET_MIN = HOURS_KEPT * 60
_LENGTHS = {length for window in BURN_WINDOWS for length in (window.long_min, window.short_min)}
_BY_MINUTE = sorted(length for length in _LENGTHS if length < MINUTES_KEPT)
_BY_HOUR = sorted({length for length in _LENGTHS if length >= MINUTES_KEPT} | {BUDGET_MIN})
Series = Sequence[Sequence[int]]


@dataclass(frozen=True)
class HourSums:
    """Counts of the hours before ``hour``, by the length of a window in minutes."""

    hour: int
    first_minute: int | None
    by_length: dict[int, Counts]

    def to_json(self) -> list[Any]:
        counts = [(length, sums.bad, sums.total) for length, sums in self.by_length.items()]
        return [self.hour, self.first_minute, counts]

    @classmethod
    def from_json(cls, plain: Sequence[Any]) -> "HourSums":
        hour, first_minute, counts = plain
        return cls(
            hour, first_minute, {length: Counts(bad, total) for length, bad, total in counts}
        )


def replace_rows(
    series: Series, new: Iterable[Sequence[int]], since: int, length: int
) -> list[list[int]]:
    """The series with ``new`` in place of all rows from ``since`` on, cut to the last ``length``
    numbers.
    """
    rows = [list(row) for row in series[: bisect_left(series, since, key=_number)]]
    rows += sorted(list(row) for row in new)
    newest = rows[-1][0] if rows else 0
    return rows[bisect_left(rows, newest - length + 1, key=_number) :]


def full_hours(minutes: Series, minute: int) -> list[list[int]]:
    """Sums of the hours that ended before ``minute`` and are completely in ``minutes``."""
    hours: dict[int, list[int]] = {}
    for number, good, bad in minutes:
        row = hours.setdefault(number // 60, [number // 60, 0, 0])
        row[1] += good
        row[2] += bad
    return [
        hours[hour] for hour in sorted(hours) if minute // 60 - FULL_HOURS <= hour < minute // 60
    ]


def hour_sums(hours: Series, hour: int) -> HourSums:
    return HourSums(
        hour,
        hours[0][0] * 60 if hours else None,
        {length: _counts(hours, hour - length // 60) for length in _BY_HOUR},
    )


def window_counts(minutes: Series, sums: HourSums, minute: int) -> dict[int, Counts]:
    """Minutes of each window and of the budget → counts up to ``minute``."""
    this_hour = _counts(minutes, sums.hour * 60 - 1)
    longer = {
        length: Counts(full.bad + this_hour.bad, full.total + this_hour.total)
        for length, full in sums.by_length.items()
    }
    return longer | {length: _counts(minutes, minute - length) for length in _BY_MINUTE}


def observed_min(minutes: Series, sums: HourSums, minute: int) -> int:
    """Minutes since the first known minute, or since the beginning of its hour."""
    first = minutes[0][0] if minutes else minute + 1
    if sums.first_minute is not None and sums.first_minute < first // 60 * 60:
        first = sums.first_minute
    return minute - first + 1


def _counts(series: Series, after: int) -> Counts:
    """The sums of all rows after the number ``after``."""
    good = bad = 0
    for row in series[bisect_left(series, after + 1, key=_number) :]:
        good += row[1]
        bad += row[2]
    return Counts(bad, good + bad)


def _number(row: Sequence[int]) -> int:
    return row[0]


MOST_OBJECTIVES = 100
LONGEST_LIMIT_S = 7 * 86_400
LEAST_TARGET, MOST_TARGET = 0.5, 0.99999


def set_objective(values: Mapping[str, str], by: str, now: datetime) -> Objective:
    """Creates an objective, or replaces one of the same name and its counts. ``values``: name,
    kind, target in percent, limit_s in seconds, and lines of matchers. Raises
    :class:`InputRefused`.
    """
    name, kind = values.get("name", "").strip(), values.get("kind", "")
    errors: dict[str, str] = {}
    if not name or len(name) > 100:
        errors["name"] = gettext("Give a name of 1 to 100 characters.")
    if kind not in OBJECTIVE_KINDS:
        errors["kind"] = gettext("Give one of %(values)s.") % {"values": ", ".join(OBJECTIVE_KINDS)}
    elif Objective.objects.exclude(name=name).count() >= MOST_OBJECTIVES:
        errors["name"] = gettext("There are %(most)s objectives already; remove one first.") % {
            "most": MOST_OBJECTIVES
        }
    if errors:
        raise InputRefused(errors)
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
        stored = Objective.objects.filter(name=name).first()
    if stored is not None and not scopes.current().is_everything and stored.cluster != cluster:
        raise InputRefused({"name": gettext("This name is taken; give another one.")})
    row, is_new = Objective.objects.update_or_create(name=name, defaults=columns)
    if not is_new:
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
    """Objective id → those of ``jobs`` that its matchers match."""
    all_jobs = list(jobs)
    cluster_labels = dict(Cluster.objects.exclude(labels={}).values_list("name", "labels"))
    labels: list[dict[str, str]] = [
        {
            **{name: str(value) for name, value in cluster_labels.get(job.cluster, {}).items()},
            "cluster": job.cluster,
            "job": job.name or job.job_id,
        }
        for job in all_jobs
    ]
    matching: dict[int, list[JobCurrent]] = {}
    for objective in objectives:
        matches = match_each(as_entered(objective.matchers), labels)
        matching[objective.pk] = [
            job for job, is_match in zip(all_jobs, matches, strict=True) if is_match
        ]
    return matching
