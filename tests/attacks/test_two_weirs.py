"""Two installations of Weir clean one storage root, on a clock that really moves: jobs complete, abort, end
and are restored while audits and clean-ups run; directories are listed short; attestations are taken back;
each installation sees some of it, orders what it likes, and takes files that the other one never saw move.

The oracle knows what Flink needs, from the story alone.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone

from tests.attacks.scale import examples
from tests.migrated import home_with_database
from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.test_whole import run
from tests.webapp.cleanup.worlds import World
from tests.weir_settings import WeirSettings, below
from webapp.accounts.models import User
from webapp.cleanup import applying, orders
from webapp.cleanup.errors import PlanActionRefused
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage import registration
from webapp.storage.auditing import audit_run, listings
from webapp.storage.models import StorageRoot

SEEDS = range(examples(2, 200))
FIXED = "0" * 32
NAMES = ("one", "two")


@dataclass(eq=False)
class Snapshot:
    of: "Job"
    number: int
    folder: Path
    files: frozenset[Path]
    at: datetime
    is_savepoint: bool = False

    @property
    def paths(self) -> set[Path]:
        return {*self.files, self.folder / "_metadata"}


@dataclass(eq=False)
class Job:
    cluster: str
    id: str
    root: Path
    started: datetime
    base: Snapshot | None = None
    mode: str = ""
    state: str = "RUNNING"
    ended: datetime | None = None
    counter: int = 0
    retained: list[Snapshot] = field(default_factory=list)
    completed: list[Snapshot] = field(default_factory=list)
    owned: set[Path] = field(default_factory=set)

    @property
    def runs(self) -> bool:
        return self.state == "RUNNING"

    @property
    def folder(self) -> Path:
        return self.root / self.id

    @property
    def restores_from(self) -> Snapshot | None:
        return self.completed[-1] if self.completed else self.base


class Installation:
    """One Weir: its database and folders."""

    def __init__(self, name: str, home: Path, weir: WeirSettings) -> None:
        self.name, self.home, self.weir = name, home, weir
        home_with_database(home)
        self.unseen: set[str] = set()
        """Clusters that it cannot collect now."""
        self.installed = False

    @contextmanager
    def open(self) -> Iterator[None]:
        connection.close()
        connection.settings_dict["NAME"] = str(self.home / "weir.sqlite3")
        self.weir(**below(self.home))
        cache.clear()
        yield


class Story:
    def __init__(self, home: Path, seed: int, weir: WeirSettings, clock: Any) -> None:
        self.rng, self.clock, self.home = Random(seed), clock, home
        self.world = World(home, self.rng)
        self.log: list[str] = []
        self.jobs: list[Job] = []
        self.savepoints: list[Snapshot] = []
        self.deleted_by_flink: set[Path] = set()
        self.serial = 0
        self.is_busy = False
        self.common = self.rng.random() < 0.5
        self.fixed = self.rng.random() < 0.5
        self.roots = [home / "ck"] if self.common else [home / f"ck-{name}" for name in NAMES]
        for root in self.roots:
            root.mkdir()
        self.weirs = [Installation(name, home / name, weir) for name in ("A", "B")]
        self.moved: dict[str, int] = {"moved": 0, "purged": 0, "undone": 0, "torn": 0}

    def say(self, text: str) -> None:
        self.log.append(f"{timezone.now():%m-%d %H:%M} {text}")

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def root_of(self, name: str) -> Path:
        return self.roots[0] if self.common else self.roots[NAMES.index(name)]

    # Flink

    def write(self, folder: Path) -> Path:
        self.serial += 1
        return self.world.file(folder, at=timezone.now(), size=20 + self.serial % 50)

    def write_metadata(self, folder: Path, number: int, files: frozenset[Path]) -> None:
        self.world.snapshot(folder, number, sorted(files), at=timezone.now())

    def start(self, name: str, base: Snapshot | None = None, mode: str = "") -> None:
        for other in self.jobs:
            if self.fixed and other.cluster == name and other.runs:
                self.end(other, "CANCELED")
        job_id = FIXED if self.fixed and not self.common else f"{self.rng.getrandbits(128):032x}"
        new = Job(name, job_id, self.root_of(name), timezone.now(), base, mode)
        new.counter = base.number if base else 0
        new.folder.mkdir(parents=True, exist_ok=True)
        if base and mode == "claim" and not base.is_savepoint:
            new.retained.append(base)
            new.owned |= base.paths
            base.of.retained = [one for one in base.of.retained if one is not base]
        self.jobs.append(new)
        self.say(f"{name} starts {job_id[:6]} from {base and base.folder} {mode}")
        self.collect(new)

    def checkpoint(self, one: Job) -> None:
        one.counter += 1
        folder = one.folder / f"chk-{one.counter}"
        if folder.exists():
            return
        before = one.restores_from
        if before and any(not path.exists() for path in before.files):
            return
        own = {self.write(one.folder / "shared") for _ in range(self.rng.randint(1, 2))}
        if self.chance(0.4):
            own.add(self.write(folder))
        one.owned |= own
        if self.chance(0.15):  # it aborts, and its files stay
            self.say(f"{one.cluster} {one.id[:6]} aborts chk-{one.counter}")
            self.collect(one, aborted=one.counter)
            return
        inherited: set[Path] = set()
        is_own = before is not None and before.of is one
        if before and (is_own or (one.mode in ("claim", "legacy") and not before.is_savepoint)):
            shared = [path for path in sorted(before.files) if path.parent.name == "shared"]
            inherited = {path for path in shared if self.chance(0.6)}
        files = frozenset(own | inherited)
        self.write_metadata(folder, one.counter, files)
        done = Snapshot(one, one.counter, folder, files, timezone.now())
        one.retained.append(done)
        one.completed.append(done)
        self.say(f"{one.cluster} {one.id[:6]} completes chk-{one.counter}")
        while len(one.retained) > 1 + (self.serial % 2):
            self.discard(one, one.retained.pop(0))
        self.collect(one)

    def discard(self, one: Job, old: Snapshot) -> None:
        still = {path for each in one.retained for path in each.paths}
        fails = self.chance(0.2)
        for path in sorted(old.paths & one.owned | {old.folder / "_metadata"} - still):
            if path not in still and path.exists() and not (fails and self.chance(0.6)):
                path.unlink()
                self.deleted_by_flink.add(path)
        if not (old.folder / "_metadata").exists() and not any(
            path.exists() for path in old.folder.glob("*")
        ):
            shutil.rmtree(old.folder, ignore_errors=True)

    def end(self, one: Job, state: str) -> None:
        one.state, one.ended = state, timezone.now()
        if state == "FINISHED":
            while one.retained:
                self.discard(one, one.retained.pop(0))
        self.say(f"{one.cluster} {one.id[:6]} ends {state}")
        self.collect(one)

    def savepoint(self, one: Job) -> None:
        one.counter += 1
        name = f"savepoint-{one.id[:6]}-{self.rng.getrandbits(48):012x}"
        folder = self.rng.choice([one.root, one.folder, one.root / "sp"]) / name
        files = frozenset({self.write(folder)})
        self.write_metadata(folder, one.counter, files)
        self.savepoints.append(Snapshot(one, one.counter, folder, files, timezone.now(), True))

    def flink(self) -> None:
        running, choice = [one for one in self.jobs if one.runs], self.rng.random()
        there = [each for one in self.jobs for each in one.retained] + self.savepoints
        there = [each for each in there if all(path.exists() for path in each.paths)]
        name = self.rng.choice(NAMES)
        if not running or choice < 0.12:
            base = self.rng.choice(there) if there and self.chance(0.85) else None
            mode = (
                self.rng.choice(["claim", "no_claim", "no_claim", "legacy", "legacy"])
                if base
                else ""
            )
            used = base is not None and any(one.base is base for one in self.jobs)
            if base and mode == "claim" and (base.of.runs or used or base.is_savepoint):
                mode = "no_claim"
            if any(one.base is base and one.mode == "claim" for one in self.jobs):
                base, mode = None, ""
            self.start(name, base, mode)
        elif choice < 0.85:
            for one in running:
                for _ in range(self.rng.randint(0, 2)):
                    self.checkpoint(one)
        elif choice < 0.94:
            self.end(self.rng.choice(running), self.rng.choice(["CANCELED", "FAILED", "FINISHED"]))
        else:
            self.savepoint(self.rng.choice(running))

    # What an installation sees

    def collect(self, one: Job, aborted: int = 0) -> None:
        if self.is_busy:  # the database that is open sees it at once, the other one later
            self.write_row(one, aborted)
            return
        for weir in self.weirs:
            if weir.installed and one.cluster not in weir.unseen:
                with weir.open():
                    self.write_row(one, aborted)

    def write_row(self, one: Job, aborted: int = 0) -> None:
        """Writes the job's row as it is now."""
        last = one.completed[-1] if one.completed else None
        columns = {
            "state": one.state,
            "terminal": not one.runs,
            "start_time": one.started,
            "end_time": one.ended,
            "last_completed_id": last.number if last else None,
            "last_completed_at": last.at if last else None,
            "last_completed_path": f"file:{last.folder}" if last else None,
            "restored_path": f"file:{one.base.folder}" if one.base else None,
            "restored_at": one.started if one.base else None,
            "restored_is_savepoint": one.base.is_savepoint if one.base else None,
            "flink_counts": {
                "at": timezone.now().isoformat(),
                "restored": int(one.base is not None),
                "total": one.counter,
            },
        }
        rows = JobCurrent.objects.filter(cluster=one.cluster, job_id=one.id)
        if not rows.update(**columns):
            job(one.cluster, at=timezone.now(), job_id=one.id, **columns)
        if aborted:
            now, row = timezone.now(), rows.get()
            why = {"outcome": "expired", "end_time": now, "reason": "CHECKPOINT_EXPIRED"}
            fact(row, aborted, now, **why)

    def collect_again(self, weir: Installation) -> None:
        with weir.open():
            for one in self.newest_jobs():
                known = JobCurrent.objects.filter(cluster=one.cluster, job_id=one.id)
                if one.cluster not in weir.unseen and (one.runs or known.exists()):
                    self.write_row(one)

    def newest_jobs(self) -> list[Job]:
        """The newest run of each job id of a cluster."""
        return list({(one.cluster, one.id): one for one in self.jobs}.values())

    def install(self, weir: Installation) -> None:
        weir.installed = True
        with weir.open():
            for name in NAMES:
                cluster(name, at=timezone.now())
            for root in self.roots:
                only = [] if self.common else ["--cluster", root.name.removeprefix("ck-")]
                run("add_storage_root", str(root), "--attest", "olga", *only)
            for one in self.newest_jobs():
                if one.runs or self.chance(0.6):
                    self.write_row(one)
            user = person("ada")
            user.is_superuser = True
            user.save()
        self.say(f"{weir.name} is installed")

    def see(self, weir: Installation) -> None:
        seen = Cluster.objects.exclude(name__in=weir.unseen)
        seen.update(last_success_at=timezone.now(), last_collected_at=timezone.now())

    def order(self, weir: Installation) -> None:
        choice, before = self.rng.random(), self.present()
        with weir.open():
            self.see(weir)
            self.is_busy = True
            try:
                self._order(weir, choice)
            except (CommandError, PlanActionRefused) as error:
                self.say(f"{weir.name}: {str(error)[:160]}")
            finally:
                self.is_busy = False
        for each in self.weirs:
            if each.installed:
                self.collect_again(each)
        self.check(before, f"{weir.name}, order {choice:.2f}")

    def _order(self, weir: Installation, choice: float) -> None:
        if weir.unseen and self.chance(0.5):
            weir.unseen.clear()
            self.see(weir)
        for root in StorageRoot.objects.filter(attested_at=None) if self.chance(0.6) else ():
            registration.attest(root, "o")
        if choice < 0.45:
            self.say(f"{weir.name} audits")
            run("audit_storage")
            return
        if choice < 0.5:
            name = self.rng.choice(NAMES)
            weir.unseen ^= {name}
            self.say(f"{weir.name} sees all but {sorted(weir.unseen)}")
            return
        if choice < 0.55:
            for root in StorageRoot.objects.all():
                registration.withdraw(root) if root.is_attested else registration.attest(root, "o")
            self.say(f"{weir.name}: attestations turned")
            return
        if choice < 0.58:
            gone = [one for one in self.jobs if not one.runs]
            if gone:
                one = self.rng.choice(gone)
                JobCurrent.objects.filter(
                    cluster=one.cluster, job_id=one.id, terminal=True
                ).delete()
                self.say(f"{weir.name} forgets {one.cluster} {one.id[:6]}")
            return
        plans = CleanupPlan.objects.all()
        ready = plans.filter(state="planned", files__gt=0).order_by("-id").first()
        quarantined = list(plans.filter(state="quarantined").order_by("id"))
        waiting = self.rng.choice(quarantined) if quarantined else None
        if waiting and choice > 0.85:
            verb = "undo" if self.chance(0.3) else "purge"
            if verb == "purge" and waiting.purge_at and waiting.purge_at > timezone.now():
                self.clock.move_to(waiting.purge_at + timedelta(hours=1))
                self.see(weir)
            self.say(f"{weir.name} {verb}s {waiting.short_name}")
            run("apply_cleanup", str(waiting.name), f"--{verb}", "--json")
            waiting.refresh_from_db()
            self.moved["purged"] += waiting.counts("purge").get("purged", 0)
            self.moved["undone"] += waiting.counts("undo").get("restored", 0)
            if verb == "undo":
                self.torn()
        elif ready and choice > 0.7:
            self.apply(weir, ready)
        else:
            run("audit_storage")
            run("plan_cleanup", *(["--waste"] if self.chance(0.7) else []), "--json")
            plan = CleanupPlan.objects.latest("id")
            self.say(f"{weir.name} plans {plan.files}")
            if plan.files and self.chance(0.6):
                self.flink()
                self.apply(weir, plan)

    def apply(self, weir: Installation, ready: CleanupPlan) -> None:
        orders.approve(ready, User.objects.get(username="ada"), timezone.now())
        self.say(f"{weir.name} applies {ready.short_name} ({ready.files})")
        run("apply_cleanup", str(ready.name), "--apply", "--json")
        ready.refresh_from_db()
        self.moved["moved"] += ready.counts("apply").get("quarantined", 0)

    def torn(self) -> None:
        """Counts snapshots that were put back without files that another Weir purged meanwhile."""
        for each in (each for one in self.jobs for each in one.completed):
            lost = [path for path in each.files - self.deleted_by_flink if not path.exists()]
            if lost and (each.folder / "_metadata").exists():
                self.moved["torn"] += 1
                self.say(f"torn: {each.folder}")

    # The truth

    def present(self) -> set[Path]:
        return {path for root in self.roots for path in root.rglob("*") if path.is_file()}

    def needed(self) -> dict[Path, str]:
        needed: dict[Path, str] = {}

        def need(snapshot: Snapshot | None, why: str) -> None:
            for path in snapshot.paths if snapshot else ():
                needed.setdefault(path, why)

        def has_heir(snapshot: Snapshot, besides: Job) -> bool:
            return any(
                one is not besides
                and one.base is not None
                and one.base.of is snapshot.of
                and not one.base.is_savepoint
                and one.base.number >= snapshot.number
                and one.completed
                for one in self.jobs
            )

        for one in self.jobs:
            if one.runs:
                need(one.restores_from, f"{one.cluster} {one.id[:6]} runs on it")
                for each in one.retained:
                    if each.of is one:
                        need(each, f"{one.cluster} {one.id[:6]} retains it")
            elif one.state != "FINISHED":
                last = one.restores_from
                if last and not has_heir(last, one):
                    need(last, f"{one.cluster} {one.id[:6]} ended with it")
        for each in self.savepoints:
            need(each, "a savepoint")
        return needed

    def check(self, before: set[Path], when: str) -> None:
        lost = {
            path: why
            for path, why in self.needed().items()
            if path in before and not path.exists() and path not in self.deleted_by_flink
        }
        assert not lost, "\n".join([f"lost by {when}", *map(str, lost.items()), *self.log])

    # Bad luck in the middle

    def between(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def played(*words: Any, **more: Any) -> Any:
            hidden: Path | None = None
            if self.chance(0.3):
                self.say("meanwhile:")
                self.flink()
            folders = [path for root in self.roots for path in root.rglob("*") if path.is_dir()]
            if call.__name__ == "list_all" and folders and self.chance(0.06):
                hidden = self.rng.choice(sorted(folders))
                hidden.rename(self.home / "hidden")
                self.say(f"listed without {hidden}")
            try:
                return call(*words, **more)
            finally:
                if hidden:
                    (self.home / "hidden").rename(hidden)
                if self.chance(0.2):
                    self.say("meanwhile, after:")
                    self.flink()

        played.__name__ = call.__name__
        return played


@pytest.fixture(scope="module")
def connection_kept(django_db_blocker: Any) -> Iterator[None]:
    """Tests may open other databases; afterwards the connection leads where it led."""
    name, held = connection.settings_dict["NAME"], connection.connection
    with django_db_blocker.unblock():
        connection.connection = None
        yield
        connection.close()
        connection.settings_dict["NAME"], connection.connection = name, held


def play(
    tmp_path: Path, seed: int, weir: WeirSettings, patch: pytest.MonkeyPatch
) -> dict[str, int]:
    patch.delenv("SPARK_REMOTE", raising=False)
    with time_machine.travel(datetime.now().astimezone(), tick=False) as clock:
        story = Story(tmp_path, seed, weir, clock)
        patch.setattr(audit_run, "_write_request", story.between(audit_run._write_request))
        patch.setattr(listings, "list_all", story.between(listings.list_all))
        patch.setattr(applying.Applying, "_treat", story.between(applying.Applying._treat))
        story.start("one")
        story.install(story.weirs[0])
        for _ in range(60):
            clock.shift(timedelta(hours=story.rng.choice([1, 5, 13, 30, 60])))
            if not story.weirs[1].installed and story.chance(0.1):
                story.install(story.weirs[1])
            for _ in range(story.rng.randint(0, 2)):
                story.flink()
            story.order(story.rng.choice([each for each in story.weirs if each.installed]))
        return story.moved


@pytest.mark.long
@pytest.mark.usefixtures("connection_kept")
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_a_job_needs_goes(
    tmp_path: Path, seed: int, weir: WeirSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = play(tmp_path, seed, weir, monkeypatch)
    assert moved["moved"] and not moved["torn"]
