"""Forecasts when unreferenced files can be proven to be orphans. Until then they count as neither
waste nor live.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from spark_jobs.storage_words import RECENT
from webapp.config.preparation import CommandRefused
from webapp.lib.storage_uris import canonical
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.models import RootFigures, StorageAudit, VerdictFigures
from webapp.storage.newest_audits import latest_of


def find_figures(entered: str) -> RootFigures:
    """The newest figures of a root by its URI in any spelling. Raises ``BadUri`` and
    ``CommandError``.
    """
    uri = canonical(entered)
    figures = latest_of(uri)
    if figures is None:
        reason = f"No audit has looked at {uri}: run manage.py audit_storage {uri} first."
        raise CommandRefused(reason)
    return figures


# Reasons of recent files
WAITS_FOR_AGE = frozenset({"age_guard", "ended_recently"})
WAITS_FOR_JOB = frozenset({"in_flight", "no_checkpoint_since"})


@dataclass(frozen=True)
class Unreferenced:
    """Unreferenced files that are not yet proven to be orphans. ``provable_from``: when an audit
    can prove the last of them, None if all wait for a checkpoint of their job. ``awaits_job``: some
    files wait for a checkpoint.
    """

    files: int
    bytes: int
    provable_from: datetime | None
    awaits_job: bool


def unreferenced(audit: StorageAudit, rows: Iterable[VerdictFigures]) -> Unreferenced | None:
    """``rows``: figures of one root. None if they have no recent files."""
    recent = [row for row in rows if row.verdict == RECENT]
    if not recent or audit.as_of is None:
        return None
    reasons = {row.reason for row in recent}
    times = []
    if reasons & WAITS_FOR_AGE:
        # A file may have been written, or first seen, at the time of the audit.
        times.append(audit.as_of + timedelta(hours=audit.age_guard_h))
    if "first_audit" in reasons:
        times.append(audit.as_of + timedelta(hours=settings.WEIR.storage_audit_h))
    return Unreferenced(
        sum(row.files for row in recent),
        sum(row.bytes for row in recent),
        max(times, default=None),
        bool(reasons & WAITS_FOR_JOB),
    )


@dataclass(frozen=True)
class ProvableStep:
    """``files`` and ``bytes`` that can be proven by ``at`` if nothing changes, with those of
    earlier steps. ``at``: None for files that wait for a checkpoint of their job. ``shortened_by``:
    what would prove them earlier.
    """

    at: datetime | None
    files: int
    bytes: int
    shortened_by: str


_SECOND_AUDIT = _("A second audit, after a checkpoint of the job: manage.py audit_storage")
_INVENTORY = _(
    "An inventory of an earlier date: what it lists with the same size and time has been there "
    "since then. manage.py audit_storage ROOT --listing FILE --as-of INSTANT"
)
_CHECKPOINT = _("A completed checkpoint of the job.")


def forecast(audit: StorageAudit, rows: Iterable[VerdictFigures]) -> list[ProvableStep]:
    """The steps of one root; ``rows`` are its figures by reason."""
    recent = [row for row in rows if row.verdict == RECENT]
    steps = []
    files = size = 0
    for reasons, shortened_by in (
        (frozenset({"first_audit"}), _SECOND_AUDIT),
        (WAITS_FOR_AGE, _INVENTORY),
        (WAITS_FOR_JOB, _CHECKPOINT),
    ):
        step = unreferenced(audit, [row for row in recent if row.reason in reasons])
        if step is not None:
            files, size = files + step.files, size + step.bytes
            steps.append(ProvableStep(step.provable_from, files, size, shortened_by))
    return steps


def summed_unreferenced(roots: Iterable[Unreferenced]) -> Unreferenced | None:
    parts = list(roots)
    if not parts:
        return None
    times = [part.provable_from for part in parts if part.provable_from]
    return Unreferenced(
        sum(part.files for part in parts),
        sum(part.bytes for part in parts),
        max(times, default=None),
        any(part.awaits_job for part in parts),
    )
