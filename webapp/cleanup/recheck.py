"""Confirms the verdict of each file by an audit just before a clean-up, with nothing from caches."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Protocol

from webapp.cleanup.entries import ORPHAN, WASTE
from webapp.cleanup.errors import Halted
from webapp.cleanup.places import Planned
from webapp.cleanup.verdicts import MergedVerdicts

VANISHED_REFERRER = "was_referred"


@dataclass(frozen=True)
class FreshAudit:
    """``not_cleanable``: root → reasons; roots outside the audit must be among them."""

    audit_id: str
    as_of: datetime
    verdict_files: Sequence[str]
    reference_files: Sequence[str] = ()
    not_cleanable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pending_files: Sequence[str] = ()
    """References of checkpoints that earlier audits read and this audit could not."""
    needed_files: Sequence[str] = ()
    """Jobs whose task-owned files may be needed (``spark_jobs.audit_tables.NEEDED``)."""
    restores_files: Sequence[str] = ()
    """Jobs that may be restored again from the same snapshot (``audit_tables.RESTORES``)."""
    doubted: Sequence[str] = ()
    """Directories and ids of jobs that the audit's doubts reach."""
    dead: Set[str] = frozenset()
    """Directories and ids of dead jobs, from statements that still count."""
    excluded: Set[str] = frozenset()
    """Directories that an operator excluded: nothing below them is deleted."""


class Recheck(Protocol):
    def fresh(self) -> FreshAudit:
        """List and audit all roots now, without cached ``_metadata``. Raises the audit's errors."""


def refuse_doubt(audit: FreshAudit, roots: Sequence[str]) -> None:
    """Raises :class:`Halted` if one of the roots may not be cleaned."""
    for root in roots:
        reasons = audit.not_cleanable.get(root, ())
        if reasons:
            raise Halted(
                f"The audit right before ({audit.audit_id}) finds that {root} may not be cleaned: "
                f"{', '.join(reasons)}. "
                "See its doubts; when they are settled, apply the plan again."
            )


class FreshVerdicts:
    """Compares chunks of a plan, in its order, with the verdicts of a fresh audit."""

    def __init__(self, audit: FreshAudit) -> None:
        self._audit = audit
        self._passes: dict[bool, MergedVerdicts] = {}

    def objections(
        self, files: Sequence[Planned], *, metadata: bool, quarantined: Set[str]
    ) -> dict[str, str]:
        """Path → why it may no longer be removed, for files of one chunk. ``quarantined``: the
        ``_metadata`` that this plan has moved. The audit misses these without knowing why; files to
        which only these referred are still waste.
        """
        verdicts = self._passes.setdefault(
            metadata, MergedVerdicts(self._audit.verdict_files, self._audit.audit_id)
        )
        rows: list[dict[str, Any]] = []
        for root, root_files in groupby(files, key=lambda file: file.root):
            rows += verdicts.of(root, [file.path for file in root_files])
        by_path = {row["path"]: row for row in rows}
        rows_of_path = Counter(row["path"] for row in rows)
        objections = {}
        for file in files:
            row = by_path.get(file.path)
            accepted = (WASTE, ORPHAN) if file.verdict == WASTE else (ORPHAN,)
            if row is None:
                objections[file.path] = "the audit right before finds it in use, or not at all"
            elif rows_of_path[file.path] > 1 or row["listed_path"] != file.source:
                objections[file.path] = "another file has the same canonical name by now"
            elif row["verdict"] not in accepted and not _lost_its_referrer(row, file, quarantined):
                objections[file.path] = f"now {row['verdict']}, {row['reason']}"
        return objections


def _lost_its_referrer(row: Mapping[str, Any], file: Planned, quarantined: Set[str]) -> bool:
    """Whether the audit only objects that the file's checkpoint vanished, moved by this plan."""
    return (
        file.verdict == WASTE
        and row["reason"] == VANISHED_REFERRER
        and row["last_referrer"] in quarantined
    )
