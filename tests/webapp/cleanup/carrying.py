"""Plans of a world, and carrying them out: to the end, or until the process dies somewhere."""

import os
import signal
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ingest.storage.plan_folder import PlanFolder
from ingest.storage.roots import Root
from ingest.storage.tree import Stat
from tests.webapp.cleanup.worlds import GUARD, NOW, World
from webapp.cleanup.applying import Applying
from webapp.cleanup.journal import Row
from webapp.cleanup.manifest import PlannedRoot, SearchedAudit
from webapp.cleanup.metadata_search import metadata_below
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.plan_builder import PlanRequest, build
from webapp.cleanup.plan_reader import PlanReader
from webapp.cleanup.purging import purge
from webapp.cleanup.rate_limit import RateLimit
from webapp.cleanup.recheck import FreshAudit
from webapp.cleanup.references import Storage
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import undo
from webapp.cleanup.watching import PlannedPaths, Watch

KILLED = 41


@dataclass
class FreshFromDisk:
    """An audit of the world as it is when it is asked for."""

    world: World
    folder: Path
    at: datetime = NOW + timedelta(hours=1)

    def fresh(self) -> FreshAudit:
        return self.world.audit(self.folder, self.at)


@dataclass
class DyingFiles(TreeFiles):
    """Kills the process, without a word, before or after the move or deletion number ``after``; or
    between its two steps.
    """

    after: int
    late: bool
    in_between: bool = False
    done: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def move(self, source: str, target: str, expected: Stat) -> None:
        if self.in_between and self.done == self.after:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            os.link(source, target)
            os._exit(KILLED)
        self._die(late=False)
        super().move(source, target, expected)
        self._die(late=True)
        self.done += 1

    def delete(self, path: str, expected: Stat) -> None:
        self._die(late=False)
        super().delete(path, expected)
        self._die(late=True)
        self.done += 1

    def _die(self, *, late: bool) -> None:
        if self.done == self.after and late == self.late:
            os._exit(KILLED)


@dataclass
class Carried:
    """A plan of a world, with what is needed to carry it out."""

    world: World
    folder: Path
    reader: PlanReader
    files: TreeFiles = field(default_factory=TreeFiles)
    now: datetime = NOW + timedelta(hours=2)

    def run(self) -> Run:
        return Run(
            PlanReader(self.reader.folder, self.reader.name),
            self.files,
            RateLimit(None),
            lambda: self.now,
            by="test",
            ordered_by="olga",
        )

    def watch(self) -> Watch:
        roots = self.storage().roots
        planned = PlannedPaths(part["path"] for part in self.reader.parts())
        return Watch(lambda: metadata_below(roots), planned, sleep=lambda s: None)

    def storage(self) -> Storage:
        return Storage([Root(self.world.uri, str(self.world.root) if self.world.named else None)])

    def recheck(self) -> FreshFromDisk:
        return FreshFromDisk(self.world, self.folder / "audits")

    def apply(self) -> None:
        Applying(self.run(), self.recheck(), self.watch(), self.storage())()

    def undo(self) -> None:
        undo(self.run())

    def purge(self) -> None:
        purge(self.run(), self.recheck(), self.watch(), self.storage())

    def rows(self, verb: str) -> list[Row]:
        journal = self.run().journal(verb)
        return [row for chunk in journal.finished_chunks() for row in journal.read(chunk).rows]

    def outcomes(self, verb: str) -> dict[str, str]:
        """Last part of the path → outcome; one row a file."""
        rows = self.rows(verb)
        assert len({row.path for row in rows}) == len(rows)
        return {row.path.rpartition("/")[2]: row.outcome for row in rows}


def plan(world: World, folder: Path, *, waste: bool = False, **changes: object) -> Carried:
    audit = world.audit(folder / "audits")
    root = PlannedRoot(world.uri, str(world.root), str(world.quarantine))
    request = {
        "verdict_files": audit.verdict_files,
        "audit_id": audit.audit_id,
        "audits": [SearchedAudit(audit.audit_id, NOW.isoformat())],
        "as_of": NOW,
        "age_guard": GUARD,
        "searched_roots": [world.uri],
        "roots": [root],
        "withheld": [],
        "created_at": NOW,
        "created_by": "olga",
        "lifetime": timedelta(days=7),
        "grace": timedelta(days=3),
        "waste": waste,
    }
    files = PlanFolder(str(folder / "plans" / uuid.uuid4().hex))
    name, _ = build(PlanRequest(**{**request, **changes}), files)  # type: ignore[arg-type]
    return Carried(world, folder, PlanReader(files, name))


def die_during(
    carried: Carried,
    act: Callable[[Carried], None],
    after: int,
    *,
    late: bool = False,
    in_between: bool = False,
) -> bool:
    """Do it in a process that dies in the middle; whether it came that far."""
    pid = os.fork()
    if pid == 0:
        carried.files = DyingFiles(after, late, in_between)
        _act_and_leave(carried, act)
    return _has_died(pid, KILLED)


def kill_at_step(carried: Carried, act: Callable[[Carried], None], step: int) -> bool:
    """Do it in a process that is killed with -9 right before its step number ``step``; whether it
    came that far.

    Steps are looks at files, moves, deletions, audits and whatever is written to the folder of the
    plan.
    """
    pid = os.fork()
    if pid == 0:
        left = [step]

        def counted(method: Callable[..., Any]) -> Callable[..., Any]:
            def stepping(*arguments: Any, **options: Any) -> Any:
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                return method(*arguments, **options)

            return stepping

        for of, names in (
            (TreeFiles, ("stat", "move", "delete", "remove_empty")),
            (PlanFolder, ("write",)),
            (FreshFromDisk, ("fresh",)),
        ):
            for name in names:
                setattr(of, name, counted(getattr(of, name)))
        _act_and_leave(carried, act)
    return _has_died(pid, -signal.SIGKILL)


def _act_and_leave(carried: Carried, act: Callable[[Carried], None]) -> None:
    try:
        act(carried)
    except BaseException:
        os._exit(99)
    os._exit(0)


def _has_died(pid: int, how: int) -> bool:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, how)
    return code == how


def effects_equal_the_journal(carried: Carried) -> None:
    """Every file is where the journal says, and nothing moved that it does not tell of."""
    places = carried.run().places
    planned = {
        row["path"]: places.of(row) for part in carried.reader.parts() for row in part.to_pylist()
    }
    restored = {row.path for row in carried.rows("undo") if row.outcome == FileOutcome.RESTORED}
    purged = {row.path for row in carried.rows("purge") if row.outcome == FileOutcome.PURGED}
    told = {row.path: row for row in carried.rows("apply")}
    for path, file in planned.items():
        away = (
            path in told and told[path].outcome == FileOutcome.QUARANTINED and path not in restored
        )
        assert Path(file.target).exists() == (away and path not in purged), path
        if (
            Path(file.target).exists() and Path(file.source).exists()
        ):  # somebody took the place of a file that was moved
            assert not Path(file.source).samefile(file.target), path
    kept = sorted(str(path) for path in carried.world.quarantine.rglob("*") if path.is_file())
    assert kept == sorted(
        file.target for path, file in planned.items() if Path(file.target).exists()
    )
