"""Fleets that are played day by day on a real disk, by the rules of Flink alone: jobs complete,
discard, end, are restored with every mode, and Weir sees some of it. Whatever audits, a plan, its
apply and its purge then do, nothing goes that somebody needs.
"""

import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.attacks.scale import examples
from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.test_repeated_job_ids import NOW
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import Cluster, JobCurrent

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)
FIRST_DAY = 50
SEEDS = (1388, *range(1000, 1000 + examples(4, 300)))
"""In 1388 another checkpoint takes the place of one that was put elsewhere."""
GOES = 0
FIXED = 0
"""The id of an application."""


@dataclass(eq=False)
class Snapshot:
    number: int
    folder: Path
    files: set[Path]
    at: datetime
    of: "Job"
    savepoint: bool = False
    was_audited: bool = False

    @property
    def needs(self) -> set[Path]:
        return {self.folder / "_metadata", *self.files}


@dataclass(eq=False)
class Job:
    cluster: str
    number: int
    world: World
    started: datetime
    restored: Snapshot | None = None
    mode: str = ""
    restored_at: datetime | None = None
    counter: int = 0
    retained: list[Snapshot] = field(default_factory=list)
    completed: list[Snapshot] = field(default_factory=list)
    state: str = "RUNNING"
    ended: datetime | None = None
    own: set[Path] = field(default_factory=set)
    aborted: int = 0

    @property
    def runs(self) -> bool:
        return self.state == "RUNNING"

    @property
    def folder(self) -> Path:
        return self.world.job(self.number)

    @property
    def stands_on(self) -> Snapshot | None:
        own = [
            one for one in self.completed if self.restored_at is None or one.at > self.restored_at
        ]
        return own[-1] if own else self.restored


class Played:
    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.rng = home, Random(seed)
        self.worlds: list[World] = []
        self.jobs: list[Job] = []
        self.savepoints: list[Snapshot] = []
        self.removed: set[Path] = set()
        self.log: list[str] = []
        self.blind: set[str] = set()
        self.day = FIRST_DAY
        self.layout = self.rng.choice(["own", "own", "common", "pairs"])
        self.names = ["app-a", "app-b", "app-c"]
        self.fixed = self.rng.random() < 0.4
        self.next_number = 1
        for place, name in enumerate(self.names):
            cluster(name, at=timezone.now() + timedelta(days=1))
            if self.layout == "own":
                self.worlds.append(World(home / name, Random(seed * 10 + place)))
        if self.layout != "own":
            self.worlds = [World(home / "common", Random(seed))]
        for place, world in enumerate(self.worlds):
            world.root.mkdir(parents=True)
            of = {"own": [self.names[place]], "common": [], "pairs": self.names}[self.layout]
            named = [word for name in of for word in ("--cluster", name)]
            run("add_storage_root", str(world.root), "--attest", "olga", *named)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    @property
    def now(self) -> datetime:
        return NOW - timedelta(days=self.day) if self.day > 0 else timezone.now()

    def say(self, text: str) -> None:
        self.log.append(f"-{self.day:.1f}d {text}")

    def world_of(self, name: str) -> World:
        return self.worlds[self.names.index(name)] if self.layout == "own" else self.worlds[0]

    # Flink

    def start(self, name: str, restored: Snapshot | None = None, mode: str = "") -> Job:
        if self.fixed and self.chance(0.7):
            number = FIXED
            running = [
                one for one in self.jobs if one.cluster == name and one.number == FIXED and one.runs
            ]
            for one in running:
                self.end(one, "CANCELED")
        else:
            number = int(f"{self.rng.getrandbits(128):032x}", 16)
        new = Job(name, number, self.world_of(name), self.now, restored, mode)
        if restored:
            new.restored_at, new.counter = self.now, restored.number
            if mode == "claim" and not restored.savepoint:
                new.retained.append(restored)
        if number == FIXED:
            before = [one for one in self.jobs if one.cluster == name and one.number == FIXED]
            if before and not restored:
                new.counter = 0
        new.folder.mkdir(parents=True, exist_ok=True)
        self.jobs.append(new)
        self.say(f"{name} starts {number:x} from {restored and restored.folder} {mode}")
        self.tell(new)
        return new

    def checkpoint(self, one: Job) -> None:
        before = one.stands_on
        inherited: set[Path] = set()
        if before and not (before is one.restored and (one.mode == "no_claim" or before.savepoint)):
            inherited = {
                path
                for path in sorted(before.files)
                if path.parent.name == "shared" and path.exists() and self.chance(0.6)
            }
        one.counter += 1
        folder = one.folder / f"chk-{one.counter}"
        if folder.exists():
            return
        new = {
            one.world.file(one.folder / "shared", at=self.now)
            for _ in range(self.rng.randint(1, 2))
        }
        if self.chance(0.3):
            new.add(one.world.file(folder, at=self.now))
        one.own |= new
        if self.chance(0.12):
            one.aborted += 1
            self.say(f"{one.cluster} {one.number:x} aborts chk-{one.counter}")
            if self.sees(one):
                fact(
                    self.row(one),
                    one.counter,
                    self.now,
                    outcome="expired",
                    end_time=self.now,
                    reason="CHECKPOINT_EXPIRED",
                )
            return
        kept = {path for path in sorted(new) if self.chance(0.9)}
        one.world.snapshot(folder, one.counter, sorted(kept | inherited), at=self.now)
        snapshot = Snapshot(one.counter, folder, kept | inherited, self.now, one)
        one.retained.append(snapshot)
        one.completed.append(snapshot)
        self.say(
            f"{one.cluster} {one.number:x} completes chk-{one.counter}: {sorted(p.name[:4] for p in snapshot.files)}"
        )
        while len(one.retained) > 2:
            self.discard(one, one.retained.pop(0))
        self.tell(one)

    def discard(self, one: Job, snapshot: Snapshot) -> None:
        needed = {path for other in one.retained for path in other.files}
        leaves = self.chance(0.15)
        for path in [*snapshot.files, snapshot.folder / "_metadata"]:
            is_own = path in one.own or one.mode == "claim"
            if path in needed or not is_own or not path.exists() or leaves:
                continue
            path.unlink()
            self.removed.add(path)
        self.say(
            f"  discards {snapshot.folder.parent.name[:4]}/{snapshot.folder.name} leaves={leaves}"
        )
        if not (snapshot.folder / "_metadata").exists():
            shutil.rmtree(snapshot.folder, ignore_errors=True)
            if self.sees(one) and snapshot.of is one and self.chance(0.7):
                fact(
                    self.row(one),
                    snapshot.number,
                    snapshot.at,
                    discarded=True,
                    end_time=snapshot.at,
                )

    def end(self, one: Job, state: str) -> None:
        one.state, one.ended = state, self.now
        if state == "FINISHED":
            while one.retained:
                self.discard(one, one.retained.pop(0))
        self.say(f"{one.cluster} {one.number:x} ends {state}")
        self.tell(one)

    def savepoint(self, one: Job) -> None:
        name = f"savepoint-{name_of_job(one.number)[:6]}-{self.rng.getrandbits(48):012x}"
        parent = self.rng.choice([one.world.root, one.folder, one.world.root / "sp"])
        folder = parent / name
        folder.mkdir(parents=True)
        files = {one.world.file(folder, at=self.now)}
        one.world.snapshot(folder, one.counter + 1, sorted(files), at=self.now)
        one.counter += 1
        snapshot = Snapshot(one.counter, folder, files, self.now, one, savepoint=True)
        self.savepoints.append(snapshot)
        self.say(f"{one.cluster} savepoint {folder}")

    # What Weir sees

    def sees(self, one: Job) -> bool:
        return one.cluster not in self.blind and self.row(one) is not None

    def row(self, one: Job) -> JobCurrent | None:
        return JobCurrent.objects.filter(
            cluster=one.cluster, job_id=name_of_job(one.number)
        ).first()

    def tell(self, one: Job) -> None:
        if one.cluster in self.blind:
            return
        last = one.completed[-1] if one.completed else None
        told = {
            "state": one.state,
            "terminal": not one.runs,
            "start_time": one.started,
            "end_time": one.ended,
            "last_completed_id": last.number if last else None,
            "last_completed_at": last.at if last else None,
            "last_completed_path": f"file:{last.folder}"
            if last and not self.chance(0.05)
            else None,
            "restored_path": f"file:{one.restored.folder}"
            if one.restored and not self.chance(0.05)
            else None,
            "restored_at": one.restored_at,
            "flink_counts": {
                "at": self.now.isoformat(),
                "restored": int(one.restored is not None),
                "total": one.counter,
            },
        }
        if self.row(one) is None:
            job(one.cluster, at=timezone.now(), job_id=name_of_job(one.number), **told)
        else:
            JobCurrent.objects.filter(cluster=one.cluster, job_id=name_of_job(one.number)).update(
                **told
            )

    def look_at(self, name: str) -> None:
        self.blind.discard(name)
        self.say(f"{name} is seen again")
        seen_at = timezone.now() + timedelta(days=1)
        Cluster.objects.filter(name=name).update(last_success_at=seen_at)
        latest = {one.number: one for one in self.jobs if one.cluster == name}
        for one in latest.values():
            if one.runs or self.row(one):
                self.tell(one)

    def audit(self) -> None:
        Cluster.objects.filter(name__in=self.blind).update(last_success_at=NOW - timedelta(days=99))
        hidden: list[tuple[Path, Path]] = []
        if self.chance(0.1):
            folders = [
                path
                for world in self.worlds
                for path in sorted(world.root.rglob("*"))
                if path.is_dir()
            ]
            if folders:
                folder = self.rng.choice(folders)
                hidden.append((folder, self.home / "hidden"))
                self.say(f"listing lacks {folder}")
                folder.rename(self.home / "hidden")
        try:
            if self.day > 0:
                run("audit_storage", "--as-of", self.now.isoformat())
            else:
                run("audit_storage")
        finally:
            for folder, place in hidden:
                place.rename(folder)
        self.say("audit")
        if not hidden:
            for one in self.jobs:
                for snapshot in one.completed:
                    snapshot.was_audited |= (snapshot.folder / "_metadata").exists()

    # Days

    def step(self) -> None:
        running = [one for one in self.jobs if one.runs]
        snapshots = [
            one for job in self.jobs for one in job.retained if (one.folder / "_metadata").exists()
        ] + self.savepoints
        choice = self.rng.random()
        name = self.rng.choice(self.names)
        if not running or choice < 0.15:
            if snapshots and self.chance(0.8):
                snapshot = self.rng.choice(snapshots)
                free = not snapshot.of.runs
                mode = self.rng.choice(
                    ["claim", "no_claim", "legacy"] if free else ["no_claim", "legacy"]
                )
                claimed = any(o.mode == "claim" and o.restored is snapshot for o in self.jobs)
                if claimed and mode != "claim":
                    mode = "no_claim"
                if mode == "claim" and (claimed or any(o.restored is snapshot for o in self.jobs)):
                    mode = "no_claim"
                if mode == "claim":
                    snapshot.of.retained = [o for o in snapshot.of.retained if o is not snapshot]
                self.start(name, snapshot, mode)
            else:
                self.start(name)
        elif choice < 0.6:
            for one in running:
                for _ in range(self.rng.randint(0, 3)):
                    self.checkpoint(one)
        elif choice < 0.75:
            self.end(
                self.rng.choice(running),
                self.rng.choice(["CANCELED", "FAILED", "CANCELED", "FINISHED"]),
            )
        elif choice < 0.8:
            self.savepoint(self.rng.choice(running))
        elif choice < 0.84:
            if name in self.blind:
                self.look_at(name)
            else:
                self.blind.add(name)
                self.say(f"{name} is not seen")
        elif choice < 0.88:
            gone = [one for one in self.jobs if not one.runs or one.cluster in self.blind]
            if gone:
                one = self.rng.choice(gone)
                if not any(
                    o is not one and o.number == one.number and o.cluster == one.cluster and o.runs
                    for o in self.jobs
                ):
                    JobCurrent.objects.filter(
                        cluster=one.cluster, job_id=name_of_job(one.number)
                    ).delete()
                    self.say(f"row forgotten {one.cluster} {one.number:x}")
        elif choice < 0.92:
            last = [
                one.completed[-1]
                for one in self.jobs
                if one.completed and (one.completed[-1].folder / "_metadata").exists()
            ]
            if last:
                snapshot = self.rng.choice(last)
                if not snapshot.of.runs and snapshot.was_audited:
                    to = self.home / f"away-{len(self.log)}"
                    shutil.copytree(snapshot.folder, to) if self.chance(
                        0.5
                    ) else snapshot.folder.rename(to)
                    if not snapshot.folder.exists():
                        self.removed |= {p for p in snapshot.needs if not p.exists()}
                    self.say(f"{snapshot.folder} put away to {to}")
        else:
            self.audit()

    # The truth

    def needed(self) -> dict[Path, str]:
        needed: dict[Path, str] = {}

        def need(snapshot: Snapshot | None, why: str) -> None:
            for path in snapshot.needs if snapshot else ():
                needed.setdefault(path, why)

        for one in self.jobs:
            if one.runs:
                need(one.stands_on, f"{one.cluster} {one.number:x} stands on it")
                for snapshot in one.retained:
                    if snapshot.of is one:
                        need(snapshot, f"{one.cluster} {one.number:x} retains it")
                continue
            if one.state == "FINISHED" or not one.completed:
                others = [
                    other
                    for other in self.jobs
                    if other is not one
                    and other.restored
                    and one.restored
                    and other.restored.of is one.restored.of
                    and other.restored.number >= one.restored.number
                    and other.stands_on is not other.restored
                ]
                if one.state != "FINISHED" and one.restored and not others:
                    need(one.restored, "an ended job without own")
                continue
            last = one.completed[-1]
            heirs = [
                other
                for other in self.jobs
                if other.restored
                and other.restored.of is one
                and not other.restored.savepoint
                and other.restored.number >= last.number
                and other.stands_on is not other.restored
                and other is not one
            ]
            if not heirs:
                need(last, f"last of {one.cluster} {one.number:x}")
        for snapshot in self.savepoints:
            need(snapshot, "savepoint")
        return needed

    def check(self, before: set[Path], when: str) -> set[Path]:
        lost = {
            path: why
            for path, why in self.needed().items()
            if path in before and not path.exists() and path not in self.removed
        }
        assert not lost, "\n".join([f"seed lost {when}", *map(str, lost.items()), *self.log])
        return {path for path in before if not path.exists() and path not in self.removed}

    def files(self) -> set[Path]:
        return {path for world in self.worlds for path in world.all_files()}


def play(home: Path, seed: int) -> int:
    one = Played(home, seed)
    one.start("app-a")
    while one.day > 1:
        one.step()
        one.day -= one.rng.choice([0.2, 0.7, 1, 2, 5])
        one.day = max(one.day, 0.5)
        if one.day <= 1:
            break
    for name in sorted(one.blind):
        if one.chance(0.85):
            one.look_at(name)
    one.audit()
    one.day = 0
    for running in [o for o in one.jobs if o.runs]:
        one.checkpoint(running)
    one.audit()
    user = person("ada")
    user.is_superuser = True
    user.save()
    before = one.files()
    run("plan_cleanup", "--waste", "--json")
    plan = CleanupPlan.objects.first()
    if plan is None or not plan.files:
        return 0
    orders.approve(plan, user, timezone.now())
    for _ in range(one.rng.randint(0, 2)):
        one.step()
    before |= one.files()
    try:
        run("apply_cleanup", str(plan.name), "--apply", "--json")
    except CommandError as error:
        one.say(f"apply: {error}")
    one.check(before, "at apply")
    for _ in range(one.rng.randint(0, 3)):
        one.step()
    CleanupPlan.objects.filter(pk=plan.pk).update(purge_at=timezone.now())
    try:
        run("apply_cleanup", str(plan.name), "--purge", "--json")
    except CommandError as error:
        one.say(f"purge: {error}")
    gone = one.check(before, "at purge")
    return len(gone)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_somebody_needs_goes(home: Path, seed: int) -> None:
    play(home, seed)


def test_what_nobody_needs_goes(home: Path) -> None:
    assert play(home, GOES) > 5
