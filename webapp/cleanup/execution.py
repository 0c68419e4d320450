"""Makes, applies, undoes or purges a plan as it was ordered. A killed run is repeated."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from webapp.cleanup import planning
from webapp.cleanup.applying import Applying
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import CleanupError, Halted, PlanDamaged, PlanRefused, PutBack
from webapp.cleanup.fresh_audits import FreshAudits
from webapp.cleanup.journal import APPLY, PURGE, UNDO, Journal
from webapp.cleanup.metadata_search import metadata_below
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.orders import STATE_OF
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.plan_reader import PlanReader, reader_of
from webapp.cleanup.purging import purge
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.rate_limit import RateLimit
from webapp.cleanup.recheck import Recheck
from webapp.cleanup.references import Storage
from webapp.cleanup.restores import restored_from
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import undo
from webapp.cleanup.watching import PlannedPaths, Watch
from webapp.lib.storage_uris import spellings
from webapp.storage.models import StorageRoot
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord

MakeRecheck = Callable[[CleanupPlan, PlanReader, Lease, RunRecord], Recheck]
Step = Callable[[CleanupPlan, Lease, RunRecord, MakeRecheck], None]


class Stopped(Exception):
    """Another order was given meanwhile; :func:`carry_out` continues with it."""


def has_work(pk: int) -> bool:
    return CleanupPlan.objects.due(timezone.now()).filter(pk=pk).exists()


def carry_out(pk: int, lease: Lease, record: RunRecord, recheck: MakeRecheck | None = None) -> None:
    """Do what the plan's state requires. An error stops the plan, is recorded in its row, and is
    raised.
    """
    # Bounded, in case the orders never end.
    for _ in PlanState:
        plan = CleanupPlan.objects.get(pk=pk)
        if plan.state == PlanState.QUARANTINED:
            plan = _begin_purge(plan, lease)
        if plan.state not in _STEPS:
            return
        try:
            _step(plan, lease, record, recheck or _fresh_audits)
        except Stopped as stop:
            record.say(str(stop))
        else:
            return


def _step(plan: CleanupPlan, lease: Lease, record: RunRecord, recheck: MakeRecheck) -> None:
    ordered = plan.state
    try:
        _STEPS[ordered](plan, lease, record, recheck)
    except PlanRefused as error:
        state = PlanState.REFUSED if ordered == PlanState.BUILDING else PlanState.HALTED
        _end(plan, ordered, state, lease, trouble=str(error))
        raise
    except PutBack as error:
        _end(plan, ordered, PlanState.UNDONE, lease, trouble=str(error), purge_at=None)
        raise
    except CleanupError as error:
        # Files that could not be purged stay in quarantine until an operator checks.
        state = PlanState.QUARANTINED if ordered == PlanState.PURGING else PlanState.HALTED
        _end(plan, ordered, state, lease, trouble=str(error))
        raise


def _make(plan: CleanupPlan, lease: Lease, record: RunRecord, recheck: MakeRecheck) -> None:
    manifest = planning.make(plan, lease, record.say)
    record.counts |= {"files": manifest.total_files, "bytes": manifest.total_bytes}
    record.say(
        f"plan {plan.short_name} holds {manifest.total_files:,} files; it waits for approval"
    )


def _apply(plan: CleanupPlan, lease: Lease, record: RunRecord, recheck: MakeRecheck) -> None:
    run = _run(plan, lease, record, APPLY)
    if plan.approved_at is None:
        raise Halted("The plan is not approved.")
    _refuse_unsafe(run)
    Applying(
        run, recheck(plan, run.reader, lease, record), _watch(run.reader), _storage(), restored_from
    )()
    if not plan.counts(APPLY).get(FileOutcome.QUARANTINED):
        # Every file was skipped: there is nothing to put back and nothing to purge.
        _end(plan, PlanState.APPLYING, PlanState.UNMOVED, lease, purge_at=None)
        return
    purge_at = timezone.now() + timedelta(seconds=plan.grace_s)
    _end(plan, PlanState.APPLYING, PlanState.QUARANTINED, lease, purge_at=purge_at)


def _undo(plan: CleanupPlan, lease: Lease, record: RunRecord, recheck: MakeRecheck) -> None:
    undo(_run(plan, lease, record, UNDO))
    _end(plan, PlanState.UNDOING, PlanState.UNDONE, lease, purge_at=None)


def _purge(plan: CleanupPlan, lease: Lease, record: RunRecord, recheck: MakeRecheck) -> None:
    run = _run(plan, lease, record, PURGE)
    _refuse_unsafe(run)
    purge(run, recheck(plan, run.reader, lease, record), _watch(run.reader), _storage())
    _end(plan, PlanState.PURGING, PlanState.PURGED, lease, purge_at=None)


_STEPS: dict[str, Step] = {
    PlanState.BUILDING: _make,
    PlanState.APPLYING: _apply,
    PlanState.UNDOING: _undo,
    PlanState.PURGING: _purge,
}


def _run(plan: CleanupPlan, lease: Lease, record: RunRecord, verb: str) -> Run:
    if not plan.name:
        raise PlanDamaged("The plan has no name: it was never made.")
    reader = reader_of(plan)
    progress = _Progress(plan, lease, record, verb, reader)
    ordered_by = f"{plan.ordered_name}, approved by {plan.approved_name}"
    state = STATE_OF[verb]

    def hold() -> None:
        lease.renew()
        if not CleanupPlan.objects.filter(pk=plan.pk, state=state).exists():
            raise Stopped(f"Plan {plan.short_name} was ordered something else in between.")

    return Run(
        reader,
        TreeFiles.of(reader.manifest),
        RateLimit(settings.WEIR.cleanup_files_per_s),
        timezone.now,
        hold,
        progress,
        record.row.attempt,
        ordered_by,
    )


def _refuse_unsafe(run: Run) -> None:
    # Roots may have been registered since the plan was made.
    manifest = run.reader.manifest
    refuse_unsafe(manifest.roots, manifest.searched_roots, planning.scanned_places())


class _Progress:
    """Copies the journal's counts into the row after each chunk."""

    def __init__(
        self, plan: CleanupPlan, lease: Lease, record: RunRecord, verb: str, reader: PlanReader
    ) -> None:
        self._plan, self._lease, self._record, self._reader = plan, lease, record, reader
        self._counts: dict[str, Counter[str]] = {}
        self._chunks: Counter[str] = Counter()
        for read_verb in {APPLY, verb}:
            self._read(read_verb)
        # A killed process may have journalled more than it saved.
        self._save(verb)

    def _read(self, verb: str) -> None:
        journal = Journal(self._reader.folder, self._reader.name, verb)
        self._counts[verb], self._chunks[verb] = journal.counts(), len(journal.finished_chunks())

    def __call__(self, verb: str, counts: Counter[str]) -> None:
        if verb not in self._counts:
            # A plan can be put back while it is applied. The journal has this chunk already.
            self._read(verb)
            counts, self._chunks[verb] = Counter(), self._chunks[verb] - 1
        self._counts[verb].update(counts)
        self._chunks[verb] += 1
        total = self._save(verb)
        self._record.counts[verb] = dict(self._counts[verb])
        words = ", ".join(
            f"{counts[outcome]:,} {outcome.replace('_', ' ')}"
            for outcome in FileOutcome
            if counts[outcome]
        )
        self._record.say(
            f"{verb} {self._chunks[verb]:,} of {total:,} chunks: {words or 'nothing to do'}"
        )

    def _save(self, verb: str) -> int:
        """Saves all counts; returns the number of chunks that ``verb`` treats."""
        totals = dict.fromkeys(self._counts, self._chunks[APPLY])
        totals[APPLY] = self._reader.manifest.chunks
        for name, counts in self._counts.items():
            self._plan.progress[name] = {
                **counts,
                "chunks": totals[name],
                "chunks_done": self._chunks[name],
            }
        with self._lease.writing():
            CleanupPlan.objects.filter(pk=self._plan.pk).update(progress=self._plan.progress)
        return totals[verb]


def _watch(reader: PlanReader) -> Watch:
    """Watches all registered roots: a checkpoint in one may refer to files in another."""
    roots, planned = _storage().roots, PlannedPaths(part["path"] for part in reader.parts())
    return Watch(lambda: metadata_below(roots), planned, spellings())


def _storage() -> Storage:
    return Storage([row.place for row in StorageRoot.objects.all()])


def _fresh_audits(
    plan: CleanupPlan, reader: PlanReader, lease: Lease, record: RunRecord
) -> Recheck:
    manifest = reader.manifest
    roots = [root.uri for root in manifest.roots if root.files]
    return FreshAudits(roots, manifest.age_guard_h, lease, record)


def _begin_purge(plan: CleanupPlan, lease: Lease) -> CleanupPlan:
    with lease.writing():
        CleanupPlan.objects.due(timezone.now()).filter(
            pk=plan.pk, state=PlanState.QUARANTINED
        ).update(
            state=PlanState.PURGING,
            ordered_name=f"{plan.approved_name}, when they approved it",
            started_at=timezone.now(),
            finished_at=None,
        )
    plan.refresh_from_db()
    return plan


def _end(
    plan: CleanupPlan,
    ordered: str,
    state: PlanState,
    lease: Lease,
    *,
    trouble: str = "",
    **fields: object,
) -> None:
    """Set the state, unless it is no longer ``ordered``: a newer order is kept."""
    with lease.writing():
        CleanupPlan.objects.filter(pk=plan.pk, state=ordered).update(
            state=state, trouble=trouble, finished_at=timezone.now(), **fields
        )
