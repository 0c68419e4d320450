"""Quotas of roots and clusters: what an operator sets, how much of it is taken, and when it is
reached.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext

from webapp.fleet.models import Cluster
from webapp.growth.groups import days_of_clusters
from webapp.growth.models import StorageQuota
from webapp.growth.trends import Slope, Until, last_known, slope
from webapp.lib.refusals import InputRefused
from webapp.storage.models import StorageRoot
from webapp.storage.newest_audits import loaded_figures
from webapp.storage.replication_factor import (
    NONE,
    ReplicationFactor,
    factors_by_uri,
    factors_of_clusters,
)

MOST_QUOTAS = 200
_UNITS = {
    **{unit: 1000**power for power, unit in enumerate(("b", "kb", "mb", "gb", "tb", "pb"))},
    **{unit: 1024**power for power, unit in enumerate(("kib", "mib", "gib", "tib", "pib"), 1)},
}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kmgtp]?i?b)", re.IGNORECASE)
LARGEST_BYTES = 1 << 60


@dataclass(frozen=True)
class QuotaUse:
    """``used_bytes``: all files below the root, or in the directories of the cluster's jobs, as the
    newest audits had them; None where none has looked. ``slope`` is None where too few days are
    known. ``replicated``: how often HDFS stores each byte; the quota counts it once.
    """

    quota: StorageQuota
    used_bytes: float | None
    slope: Slope | None
    until: Until
    replicated: ReplicationFactor = NONE

    @property
    def share(self) -> float | None:
        return None if self.used_bytes is None else self.used_bytes / self.quota.quota_bytes

    @property
    def is_reached(self) -> bool:
        return self.used_bytes is not None and self.used_bytes >= self.quota.quota_bytes


def size_of(text: str) -> int:
    """``20 TB``, ``512GiB``; raises :class:`InputRefused`."""
    match = _SIZE.fullmatch(text.strip())
    size = (
        round(float(match[1]) * _UNITS[match[2].lower()])
        if match and match[2].lower() in _UNITS
        else 0
    )
    if not 0 < size <= LARGEST_BYTES:
        raise InputRefused(
            {
                "size": gettext(
                    "%(strip)s is not a size; write 20 TB (10¹² bytes) or 20 TiB (2⁴⁰ bytes), "
                    "up to 1 EiB."
                )
                % {"strip": f"{text.strip()[:40]!r}"}
            }
        )
    return size


def set_quota(kind: str, subject: str, size: str, by: str, now: datetime) -> StorageQuota:
    """Of a registered root or cluster; what was set before is replaced.

    Raises :class:`InputRefused`.
    """
    wrong: dict[str, str] = {}
    if kind not in StorageQuota.Kind.values:
        wrong["kind"] = gettext("Give one of %(values)s.") % {
            "values": ", ".join(StorageQuota.Kind.values)
        }
    elif kind == StorageQuota.Kind.ROOT and not StorageRoot.objects.filter(uri=subject).exists():
        wrong["subject"] = gettext(
            "No root %(subject)s is registered; give its URI as the page Storage shows it."
        ) % {"subject": subject[:200]}
    elif kind == StorageQuota.Kind.CLUSTER and not Cluster.objects.filter(name=subject).exists():
        wrong["subject"] = gettext("There is no cluster called %(subject)s.") % {
            "subject": subject[:100]
        }
    if (
        not wrong
        and StorageQuota.objects.exclude(kind=kind, subject=subject).count() >= MOST_QUOTAS
    ):
        wrong["subject"] = gettext(
            "There are %(most_quotas)s quotas already; remove one first."
        ) % {"most_quotas": MOST_QUOTAS}
    if wrong:
        raise InputRefused(wrong)
    row, _ = StorageQuota.objects.update_or_create(
        kind=kind,
        subject=subject,
        defaults={"quota_bytes": size_of(size), "set_by": by[:200], "set_at": now},
    )
    return row


def uses(window: int, now: datetime) -> list[QuotaUse]:
    """Of all quotas, those reached soonest first, unknown last. Seven queries at most."""
    quotas = list(StorageQuota.objects.order_by("kind", "subject")[:MOST_QUOTAS])
    roots = _days_of_roots(
        [quota.subject for quota in quotas if quota.kind == StorageQuota.Kind.ROOT], window, now
    )
    clusters = days_of_clusters(
        now, [quota.subject for quota in quotas if quota.kind == StorageQuota.Kind.CLUSTER]
    )
    by_root = factors_by_uri(
        quota.subject for quota in quotas if quota.kind == StorageQuota.Kind.ROOT
    )
    by_cluster = (
        factors_of_clusters()
        if any(quota.kind == StorageQuota.Kind.CLUSTER for quota in quotas)
        else {}
    )
    quota_uses = []
    for quota in quotas:
        factors = by_root if quota.kind == StorageQuota.Kind.ROOT else by_cluster
        days = (
            roots.get(quota.subject, {})
            if quota.kind == StorageQuota.Kind.ROOT
            else _stored(clusters, quota.subject)
        )
        use = _use(quota, days, window, now.astimezone(UTC).toordinal())
        quota_uses.append(replace(use, replicated=factors.get(quota.subject, NONE)))
    return sorted(quota_uses, key=_soonest)


def _stored(clusters: dict, subject: str) -> dict[int, float]:  # type: ignore[type-arg]
    return clusters[subject][0].stored if subject in clusters else {}


def _days_of_roots(uris: Sequence[str], window: int, now: datetime) -> dict[str, dict[int, float]]:
    roots: dict[str, dict[int, float]] = defaultdict(dict)
    rows: Iterable[tuple[str, datetime, int]] = ()
    if uris:
        of_roots = loaded_figures().filter(
            root__in=uris, as_of__gt=now - timedelta(days=window + 1)
        )
        rows = of_roots.order_by("as_of").values_list("root", "as_of", "bytes").iterator(2_000)
    for root, as_of, size in rows:
        roots[root][as_of.astimezone(UTC).toordinal()] = size
    return roots


def _use(quota: StorageQuota, days: dict[int, float], window: int, newest: int) -> QuotaUse:
    trend = slope(days, window, newest)
    used = last_known(days, window, newest)
    if used is not None and used >= quota.quota_bytes:
        return QuotaUse(quota, used, trend, Until(0.0, 0.0, 0.0))
    return QuotaUse(quota, used, trend, trend.until(quota.quota_bytes) if trend else Until())


def _soonest(use: QuotaUse) -> tuple[float, float, str]:
    return (
        float("inf") if use.until.days is None else use.until.days,
        -(use.share or 0),
        use.quota.subject,
    )
