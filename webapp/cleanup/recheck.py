"""The audit just before a clean-up: confirms each file's verdict with everything parsed afresh."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from webapp.cleanup.entries import ORPHAN, WASTE
from webapp.cleanup.errors import Halted
from webapp.cleanup.places import Planned
from webapp.cleanup.verdicts import MergedVerdicts

VANISHED_REFERRER = "was_referred"


@dataclass(frozen=True)
class FreshAudit:
    """``not_cleanable`` has the reasons by root; a root outside the audit must be among them."""

    audit_id: str
    as_of: datetime
    verdict_files: Sequence[str]
    reference_files: Sequence[str] = ()
    not_cleanable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pending_files: Sequence[str] = ()
    """References of checkpoints that earlier audits read and this one did not, of files of which it
    does not tell.
    """
    needed_files: Sequence[str] = ()
    """Jobs whose task-owned files may be needed (``spark_jobs.audit_tables.NEEDED``)."""
    restores_files: Sequence[str] = ()
    """Jobs that may have to be restored again from where they were (``RESTORES`` there)."""
    doubted: Sequence[str] = ()
    """Directories and ids of jobs that its doubts reach."""
    dead: Set[str] = frozenset()
    """Directories and ids of jobs that were attested to be dead, as far as that counts still."""
    excluded: Set[str] = frozenset()
    """Directories that an operator excluded: whatever lies below them is never deleted."""


class Recheck(Protocol):
    def fresh(self) -> FreshAudit:
        """List and audit all roots now, with no ``_metadata`` taken from the cache.

        Raises what the audit raises.
        """


def refuse_doubt(audit: FreshAudit, roots: Sequence[str]) -> None:
    """Raises :class:`Halted` if a root of the plan may no longer be cleaned."""
    for root in roots:
        reasons = audit.not_cleanable.get(root, ())
        if reasons:
            raise Halted(
                f"The audit right before ({audit.audit_id}) finds that {root} may not be cleaned: "
                f"{', '.join(reasons)}. "
                "See its doubts; when they are settled, apply the plan again."
            )


class FreshVerdicts:
    """Verdicts of the fresh audit beside the chunks of a plan, in the plan's order: metadata first,
    then everything else.
    """

    def __init__(self, audit: FreshAudit) -> None:
        self._audit = audit
        self._passes: dict[bool, MergedVerdicts] = {}

    def objections(
        self, files: Sequence[Planned], *, metadata: bool, quarantined: Set[str]
    ) -> dict[str, str]:
        """Path → why it may no longer be removed, for files of one chunk. ``quarantined``: the
        ``_metadata`` that this plan has moved. A later audit misses them without knowing why; what
        only they referred to is still waste.
        """
        pass_ = self._passes.setdefault(
            metadata, MergedVerdicts(self._audit.verdict_files, self._audit.audit_id)
        )
        wanted: dict[str, list[Planned]] = {}
        for file in files:
            wanted.setdefault(file.root, []).append(file)
        rows = [
            row for root in wanted for row in pass_.of(root, [file.path for file in wanted[root]])
        ]
        by_path = {row["path"]: row for row in rows}
        doubles = Counter(row["path"] for row in rows)
        objections_by_path = {}
        for file in files:
            row = by_path.get(file.path)
            if row is None:
                objections_by_path[file.path] = (
                    "the audit right before finds it in use, or not at all"
                )
            elif doubles[file.path] > 1 or row["listed_path"] != file.source:
                objections_by_path[file.path] = "another file has the same canonical name by now"
            elif row["verdict"] not in _still(file.verdict) and not _is_left_by(
                row, file, quarantined
            ):
                objections_by_path[file.path] = f"now {row['verdict']}, {row['reason']}"
        return objections_by_path


def _is_left_by(row: Mapping[str, Any], file: Planned, quarantined: Set[str]) -> bool:
    """Whether the only objection is that its checkpoint vanished, which this plan took."""
    return (
        file.verdict == WASTE
        and row["reason"] == VANISHED_REFERRER
        and row["last_referrer"] in quarantined
    )


def _still(planned: str) -> tuple[str, ...]:
    return (WASTE, ORPHAN) if planned == WASTE else (ORPHAN,)
