"""Weeks of a fleet on a real disk and by a clock that is turned: Flink writes and deletes by its
own rules, an operator registers, attests, excludes, plans, applies, undoes and purges, another Weir
takes files of the same trees, processes die between two writes. What is needed is known from the
play alone, by file.
"""

import csv
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError
from django.utils import timezone

from ingest.storage.directories import Local
from ingest.storage.local_files import LocalFiles
from ingest.storage.plan_folder import PlanFolder
from tests.ingest.metadata import writing as w
from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.test_whole import run
from tests.webapp.cleanup.worlds import date
from webapp.checkpoints.models import CheckpointFact
from webapp.cleanup import orders
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import PlanActionRefused
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.places import TreeFiles
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.auditing import audit_run
from webapp.storage.models import StorageRoot, StorageStatement

BEGAN = datetime(2026, 5, 4, 6, tzinfo=UTC)
FIXED = "0" * 32
NAMES = ("flink", "a%20b", "x+y", "état", "sp ace", "chk", "s%2541")
"""Of roots."""
SPELLINGS = ("file:{}", "file://{}", "{}", "file://localhost{}")
KEPT = 2


class Killed(BaseException):
    pass


@dataclass(eq=False)
class Snap:
    """``hidden``: handles that its ``_metadata`` does not name."""

    of: "Job"
    number: int
    folder: Path
    files: set[Path]
    at: datetime
    savepoint: bool = False
    hidden: set[Path] = field(default_factory=set)

    @property
    def metadata(self) -> Path:
        return self.folder / "_metadata"

    @property
    def needs(self) -> set[Path]:
        return {self.metadata, *self.files, *self.hidden}


@dataclass(eq=False)
class Job:
    cluster: str
    jid: str
    root: Path
    began: datetime
    backend: str = "rocksdb"
    restored: Snap | None = None
    mode: str = ""
    restored_at: datetime | None = None
    number: int = 0
    retained: list[Snap] = field(default_factory=list)
    completed: list[Snap] = field(default_factory=list)
    state: str = "RUNNING"
    ended: datetime | None = None
    own: set[Path] = field(default_factory=set)
    pending: set[Path] = field(default_factory=set)
    pending_since: datetime | None = None
    hidden: set[Path] = field(default_factory=set)
    working: set[Path] = field(default_factory=set)
    attempt: int = 0
    dead: bool = False

    @property
    def runs(self) -> bool:
        return self.state == "RUNNING"

    @property
    def folder(self) -> Path:
        return self.root / self.jid

    @property
    def since(self) -> list[Snap]:
        return [
            one for one in self.completed if self.restored_at is None or one.at > self.restored_at
        ]

    @property
    def stands_on(self) -> Snap | None:
        return self.since[-1] if self.since else self.restored

    def __str__(self) -> str:
        return f"{self.cluster}/{self.jid[:6]}"


class Weeks:
    def __init__(
        self, home: Path, seed: int, clock: Any, layout: str = "", clusters: int = 0
    ) -> None:
        self.home, self.rng, self.clock = home, Random(seed), clock
        self.now = BEGAN
        self.log: list[str] = []
        self.jobs: list[Job] = []
        self.savepoints: list[Snap] = []
        self.removed: set[Path] = set()
        self.known: dict[Path, None] = {}
        self.blind: set[str] = set()
        self.aside: list[tuple[Path, Path]] = []
        self.inventories: list[tuple[datetime, Path, list[list[str]]]] = []
        self.excluded: list[Path] = []
        self.mute = False
        self.acting_since: datetime | None = None
        self.counts: dict[str, int] = {}
        self.fixed = self.chance(0.4)
        self.clusters = ["app-a", "app-b", "app-c"][: clusters or self.rng.randint(1, 3)]
        self.layout = layout or self.rng.choice(["own", "common", "named"])
        names = self.rng.sample(NAMES, 4)
        count = len(self.clusters) if self.layout == "own" else 1
        self.roots = [home / "st" / name for name in names[:count]]
        self.saves = home / "st" / names[3] if self.chance(0.5) else None
        for name in self.clusters:
            cluster(name, at=self.now)
        for place, root in enumerate(self.roots):
            root.mkdir(parents=True)
            of = {"own": [self.clusters[place % len(self.clusters)]], "common": []}.get(
                self.layout, self.clusters
            )
            self.register(root, of)
        if self.saves:
            self.saves.mkdir()
            self.register(self.saves, [])
        self.user = person("ada")
        self.user.is_superuser = True
        self.user.save()

    def register(self, root: Path, of: list[str]) -> None:
        written = self.rng.choice([f"{root}", f"file://{root}/", f"file:{root}"])
        named = [word for name in of for word in ("--cluster", name)]
        run("add_storage_root", written, "--attest", "olga", *named)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def say(self, text: str) -> None:
        self.log.append(f"{self.now:%m-%d %H:%M} {text}")

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def pass_time(self, hours: float) -> None:
        self.now += timedelta(hours=hours)
        self.clock.move_to(self.now)

    # Files

    def file(self, folder: Path, size: int | None = None) -> Path:
        path = folder / str(uuid.UUID(int=self.rng.getrandbits(128)))
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.rng.randbytes(size or self.rng.randrange(1, 90)))
        date(path, self.now)
        self.known[path] = None
        return path

    def unlink(self, path: Path) -> None:
        """By Flink or a person."""
        path.unlink(missing_ok=True)
        self.removed.add(path)

    def written(self, path: Path) -> str:
        text = self.rng.choice(SPELLINGS[:2]).format(path)
        if self.chance(0.1):
            text = text.replace("/shared/", "//shared/", 1)
        return text

    def write_metadata(self, snap: Snap) -> None:
        handles = {
            f"{at:06}.sst": w.file(path.stat().st_size if path.exists() else 7, self.written(path))
            for at, path in enumerate(sorted(snap.files))
        }
        state = w.incremental(w.byte_stream("meta", b"meta"), handles, {}, new=True)
        subtasks = [w.subtask(4, 0, keyed=state)]
        snap.folder.mkdir(parents=True, exist_ok=True)
        snap.metadata.write_bytes(w.metadata(4, [w.operator(4, subtasks)], checkpoint=snap.number))
        date(snap.metadata, snap.at)
        self.known[snap.metadata] = None

    # Flink

    def start(
        self,
        name: str,
        restored: Snap | None = None,
        mode: str = "",
        jid: str = "",
        backend: str = "",
    ) -> Job:
        root = self.roots[self.clusters.index(name)] if self.layout == "own" else self.roots[0]
        fixed = FIXED if self.fixed and self.chance(0.7) else f"{self.rng.getrandbits(128):032x}"
        jid = jid or fixed
        for one in self.jobs:
            if one.jid == jid and one.cluster == name and one.runs:
                self.end(one, "CANCELED")
        backend = backend or self.rng.choice(["rocksdb", "rocksdb", "forst", "changelog"])
        new = Job(name, jid, root, self.now, backend, restored, mode)
        if restored:
            new.restored_at, new.number = self.now, restored.number
            new.hidden = set(restored.hidden)
            if mode == "claim" and not restored.savepoint:
                restored.of.retained = [one for one in restored.of.retained if one is not restored]
                new.retained.append(restored)
            if backend == "forst":
                new.working |= restored.files
        new.folder.mkdir(parents=True, exist_ok=True)
        self.jobs.append(new)
        self.say(
            f"{new} {backend} starts in {root.name} from "
            f"{restored and restored.folder.relative_to(self.home)} {mode}"
        )
        self.collect(name)
        return new

    def place(self, one: Job) -> Path:
        if one.backend == "forst":
            return one.folder / "shared" / f"op_Win_{'a' * 32}__1_1__attempt_{one.attempt}" / "db"
        return one.folder / (
            "dstl" if one.backend == "changelog" and self.chance(0.5) else "shared"
        )

    def begin_checkpoint(self, one: Job) -> None:
        one.pending = {self.file(self.place(one)) for _ in range(self.rng.randint(1, 2))}
        one.number += 1
        if self.chance(0.4):
            one.pending.add(self.file(one.folder / f"chk-{one.number}"))
        one.pending_since = self.now
        one.own |= one.pending
        if one.backend == "forst":
            one.working |= {path for path in one.pending if path.parent.name == "db"}
        if self.chance(0.15):
            handle = self.file(one.folder / "taskowned")
            one.hidden.add(handle)
            one.own.add(handle)
        if one.hidden and self.chance(0.1):
            # Committed: the operator deletes it itself, or forgets to.
            one.hidden = set()

    def end_checkpoint(self, one: Job) -> None:
        if not one.pending:
            return
        new, one.pending = one.pending, set()
        folder = one.folder / f"chk-{one.number}"
        since, one.pending_since = one.pending_since, None
        if self.chance(0.12) or (folder / "_metadata").exists():
            self.say(f"{one} aborts chk-{one.number}")
            if one.backend == "forst":
                one.working |= {path for path in new if path.parent.name == "db"}
            if self.sees(one):
                self.fact(one, one.number, since, outcome="expired", reason="CHECKPOINT_EXPIRED")
            if self.chance(0.5):
                for path in new - one.working:
                    self.unlink(path)
            return
        before = one.stands_on
        inherited: set[Path] = set()
        is_first_full = before is one.restored and (
            one.mode == "no_claim" or (before and before.savepoint)
        )
        if before and not is_first_full:
            inherited = {
                path
                for path in sorted(before.files)
                if not path.parent.name.startswith("chk-") and path.exists() and self.chance(0.6)
            }
        named = {path for path in sorted(new) if self.chance(0.9)}
        snap = Snap(one, one.number, folder, named | inherited, self.now, hidden=set(one.hidden))
        self.write_metadata(snap)
        one.retained.append(snap)
        one.completed.append(snap)
        self.say(f"{one} completes chk-{one.number} {sorted(p.name[:4] for p in snap.files)}")
        if one.backend == "forst" and self.chance(0.4):
            one.working -= {path for path in sorted(one.working) if self.chance(0.3)}
        while len(one.retained) > KEPT:
            self.discard(one, one.retained.pop(0))

    def fact(self, one: Job, number: int, since: datetime | None, **fields: Any) -> None:
        row = self.row(one)
        if row is None:
            return
        CheckpointFact.objects.filter(
            cluster=one.cluster,
            job_id=one.jid,
            checkpoint_id=number,
            trigger_time=since or self.now,
        ).delete()
        fields = {"end_time": self.now} | fields
        fact(row, number, since or self.now, **fields)

    def discard(self, one: Job, snap: Snap) -> None:
        others = {path for other in one.retained for path in other.files}
        leaves = self.chance(0.15)
        for path in [snap.metadata, *sorted(snap.files)]:
            mine = (
                path in one.own
                or (one.mode == "claim" and snap is one.restored)
                or path == snap.metadata
            )
            if path in others or path in one.working or not mine or not path.exists():
                continue
            if leaves and self.chance(0.6):
                continue
            self.unlink(path)
        if snap.folder.exists() and not any(snap.folder.iterdir()):
            snap.folder.rmdir()
        if self.sees(one) and snap.of is one and self.chance(0.8):
            self.fact(one, snap.number, snap.at, discarded=True, end_time=snap.at)

    def end(self, one: Job, state: str) -> None:
        self.end_checkpoint(one) if self.chance(0.3) else None
        one.pending, one.pending_since = set(), None
        one.state, one.ended = state, self.now
        one.working = set()
        if state == "FINISHED":
            while one.retained:
                self.discard(one, one.retained.pop(0))
            one.hidden = set()
        self.say(f"{one} ends {state}")

    def fail_over(self, one: Job) -> None:
        """The JobManager is gone; the next one takes the job up from its last checkpoint."""
        last = one.stands_on
        if last is None or not all(path.exists() for path in last.needs - last.hidden):
            return
        one.pending, one.pending_since = set(), None
        one.restored, one.mode, one.restored_at, one.began = last, "own", self.now, self.now
        one.attempt += 1
        one.hidden = set(last.hidden)
        if one.backend == "forst":
            one.working = set(last.files)
        self.say(f"{one} fails over to chk-{last.number}")

    def savepoint(self, one: Job) -> None:
        name = f"savepoint-{one.jid[:6]}-{self.rng.getrandbits(48):012x}"
        parents = [one.root, one.folder, one.root / "sp", *([self.saves] if self.saves else [])]
        folder = self.rng.choice(parents) / name
        one.number += 1
        files = {self.file(folder) for _ in range(self.rng.randint(1, 2))}
        snap = Snap(one, one.number, folder, files, self.now, True, set(one.hidden))
        self.write_metadata(snap)
        self.savepoints.append(snap)
        self.say(f"{one} savepoint {folder.relative_to(self.home)}")

    def move_snapshot(self) -> None:
        """A person renames a savepoint, or copies the directory of a checkpoint, in the roots."""
        if self.savepoints and self.chance(0.5):
            snap = self.rng.choice(self.savepoints)
            if not snap.folder.exists() or self.is_base(snap):
                return
            to = snap.folder.with_name(f"kept-{self.rng.getrandbits(24):x}")
            old = dict.fromkeys(snap.files)
            snap.folder.rename(to)
            self.removed |= {*old, snap.folder / "_metadata"}
            snap.folder = to
            snap.files = {to / path.name for path in old}
            self.write_metadata(snap)
            self.known |= dict.fromkeys(snap.files)
            self.say(f"savepoint is renamed to {to.name}")
        else:
            ended = [one for one in self.jobs if not one.runs and one.completed]
            if not ended:
                return
            snap = self.rng.choice(ended).completed[-1]
            if not snap.metadata.exists():
                return
            to = self.rng.choice(self.roots) / "backup" / f"{snap.of.jid[:4]}-{len(self.log)}"
            shutil.copytree(snap.folder, to)
            for path in to.iterdir():
                self.known[path] = None
            copied = Snap(
                snap.of, snap.number, to, set(snap.files), snap.at, True, set(snap.hidden)
            )
            self.savepoints.append(copied)
            self.say(f"{snap.folder.name} of {snap.of} is copied to {to.relative_to(self.home)}")

    def is_base(self, snap: Snap) -> bool:
        return any(one.runs and one.stands_on is snap for one in self.jobs)

    # What Weir is told

    def row(self, one: Job) -> JobCurrent | None:
        return JobCurrent.objects.filter(cluster=one.cluster, job_id=one.jid).first()

    def sees(self, one: Job) -> bool:
        return not self.mute and one.cluster not in self.blind and self.row(one) is not None

    def collect(self, name: str) -> None:
        if name in self.blind or self.mute:
            return
        Cluster.objects.filter(name=name).update(
            last_success_at=self.now, last_collected_at=self.now
        )
        latest = {one.jid: one for one in self.jobs if one.cluster == name}
        for one in latest.values():
            if one.runs or (
                one.ended and (self.row(one) or self.now - one.ended < timedelta(hours=2))
            ):
                self.tell(one)

    def tell(self, one: Job) -> None:
        last = one.completed[-1] if one.completed else None
        own = (
            [other for other in one.completed if other.at >= one.began]
            if one.jid == FIXED
            else one.completed
        )
        told = {
            "state": one.state,
            "terminal": not one.runs,
            "start_time": one.began,
            "end_time": one.ended,
            "last_completed_id": last.number if last else None,
            "last_completed_at": last.at if last else None,
            "last_completed_path": f"file:{last.folder}"
            if last and not self.chance(0.01)
            else None,
            "restored_path": self.rng.choice(SPELLINGS[:3]).format(one.restored.folder)
            if one.restored and not self.chance(0.01)
            else None,
            "restored_at": one.restored_at,
            "restored_checkpoint_id": one.restored.number if one.restored else None,
            "checkpoint_config": {
                "mode": "exactly_once",
                "state_backend": "ForStStateBackend" if one.backend == "forst" else "RocksDB",
                "retained_on_cancellation": True,
            },
            "flink_version": "2.1.0" if one.backend == "forst" else "1.20.1",
            "flink_counts": {
                "at": self.now.isoformat(),
                "restored": int(one.restored is not None),
                "total": len(own),
            },
            "last_seen_at": self.now,
        }
        if self.row(one) is None:
            job(one.cluster, at=self.now, job_id=one.jid, **told)
        else:
            JobCurrent.objects.filter(cluster=one.cluster, job_id=one.jid).update(**told)
        CheckpointFact.objects.filter(
            cluster=one.cluster, job_id=one.jid, outcome="in_progress"
        ).delete()
        if one.pending_since:
            self.fact(one, one.number, one.pending_since, outcome="in_progress", end_time=None)

    def collect_all(self) -> None:
        for name in self.clusters:
            self.collect(name)

    # The operator

    @contextmanager
    def short(self) -> Iterator[bool]:
        """A listing that lacks a directory, or finds a root empty."""
        roots = [*self.roots, *([self.saves] if self.saves else [])]
        place: Path | None = None
        if self.chance(0.02):
            place = self.rng.choice(roots)
        elif self.chance(0.04):
            folders = [p for root in roots for p in sorted(root.rglob("*")) if p.is_dir()]
            place = self.rng.choice(folders) if folders else None
        if place is None:
            yield False
            return
        hidden = self.home / "hidden"
        place.rename(hidden)
        if place in roots:
            place.mkdir()
        self.say(f"a listing lacks {place.relative_to(self.home)}")
        try:
            yield True
        finally:
            if place in roots:
                place.rmdir()
            hidden.rename(place)

    def audit(self) -> None:
        self.collect_all()
        with self.short() as is_short, self.meanwhile(0 if is_short else 0.3):
            self.command("audit_storage")

    def command(self, *words: str) -> str:
        try:
            said = run(*words)
        except (CommandError, PlanActionRefused) as error:
            self.say(f"{' '.join(words)[:60]}: {str(error)[:160]}")
            self.count(f"{words[0]} refused")
            return ""
        self.say(" ".join(words)[:90])
        self.count(words[0])
        return said

    def take_inventory(self) -> None:
        root = self.rng.choice(self.roots)
        rows = [
            [
                str(path),
                str(path.stat().st_size),
                datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(),
            ]
            for path in sorted(root.rglob("*"))
            if path.is_file()
        ]
        if self.chance(0.4):
            below = [path for path in sorted(root.iterdir()) if path.is_dir()]
            if below:
                prefix = str(self.rng.choice(below))
                rows = [row for row in rows if row[0].startswith(prefix)]
        if rows:
            self.inventories.append((self.now, root, rows))

    def import_inventory(self) -> None:
        if not self.inventories:
            return
        at, root, rows = self.rng.choice(self.inventories)
        file = self.home / "inventory.csv"
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([["path", "bytes", "modified"], *rows])
        self.collect_all()
        self.command("audit_storage", str(root), "--listing", str(file), "--as-of", at.isoformat())

    def plan(self) -> None:
        self.collect_all()
        self.command("plan_cleanup", "--json", *(["--waste"] if self.chance(0.7) else []))
        plan = CleanupPlan.objects.order_by("-id").first()
        if plan is None or plan.state != PlanState.PLANNED or not plan.files:
            return
        self.count("planned files", plan.files)
        orders.approve(plan, self.user, timezone.now())

    def carry_out(self, verb: str, state: tuple[str, ...]) -> None:
        plans = list(CleanupPlan.objects.filter(state__in=state).order_by("id"))
        if not plans:
            return
        plan = self.rng.choice(plans)
        self.collect_all()
        if verb == "purge" and plan.purge_at and plan.purge_at > self.now:
            if self.chance(0.5):
                return
            self.pass_time((plan.purge_at - self.now).total_seconds() / 3600 + 1)
            self.collect_all()
        before = self.present()
        self.acting_since = self.now
        words = ("apply_cleanup", str(plan.name), f"--{verb}", "--json")
        if self.chance(0.3):
            after, late = self.rng.randrange(12), self.chance(0.5)
            try:
                with dying(after, late=late):
                    self.command(*words)
            except Killed:
                self.say(f"{verb} is killed at {after} late={late}")
                self.count("killed")
            self.check(before, f"{verb} killed")
            if self.chance(0.4):
                self.between()
            if self.chance(0.2):
                verb = "undo"
                words = ("apply_cleanup", str(plan.name), "--undo", "--json")
            before = self.present()
            self.collect_all()
            self.acting_since = self.now
        with self.meanwhile():
            self.command(*words)
        plan.refresh_from_db()
        self.say(f"plan {plan.short_name} is {plan.state} {plan.trouble[:250]}")
        self.check(before, verb)
        self.acting_since = None

    def present(self) -> dict[Path, bool]:
        """Files that are where Flink wrote them (True), or in a quarantine of Weir."""
        present = {path: True for path in self.known if path.exists()}
        for root in [*self.roots, *([self.saves] if self.saves else [])]:
            folder = root.with_name(f"{root.name}.weir-quarantine")
            for path in folder.rglob("*") if folder.exists() else ():
                if path.is_file():
                    plan, _number, *below = path.relative_to(folder).parts
                    if plan != "other":
                        present.setdefault(root.joinpath(*below), False)
        return present

    def between(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.step(operating=False)
        self.pass_time(self.rng.choice([0.2, 3, 20]))

    def attest(self) -> None:
        ended = [
            one
            for one in self.jobs
            if not one.runs
            and not one.dead
            and not any(other.runs and other.folder == one.folder for other in self.jobs)
            and not any(other.runs and self.stems(other, one) for other in self.jobs)
        ]
        if not ended:
            return
        one = self.rng.choice(ended)
        self.collect_all()
        by_cluster = self.chance(0.3)
        words = ["--cluster", one.cluster, "--job", one.jid] if by_cluster else []
        subject = (
            []
            if by_cluster and self.chance(0.5)
            else [self.rng.choice(SPELLINGS[:3]).format(one.folder)]
        )
        if self.command("storage_statement", "dead_job", *subject, *words, "--reason", "dead"):
            for other in self.jobs:
                if other.folder == one.folder and not other.runs:
                    other.dead = True

    def stems(self, one: Job, of: Job) -> bool:
        base = one.stands_on
        return base is not None and base.of is of

    def take_back(self) -> None:
        rows = list(StorageStatement.objects.valid().order_by("id"))
        if not rows:
            return
        row = self.rng.choice(rows)
        if self.command("storage_statement", "--take-back", str(row.pk)):
            for one in self.jobs:
                if row.kind == "dead_job" and (
                    row.subject.endswith(one.jid)
                    or (row.cluster, row.job_id) == (one.cluster, one.jid)
                ):
                    one.dead = False
            self.excluded = [
                path
                for path in self.excluded
                if StorageStatement.objects.valid().filter(subject__endswith=path.name).exists()
            ]

    def exclude(self) -> None:
        root = self.rng.choice(self.roots)
        below = [
            path for path in sorted(root.rglob("*")) if path.is_dir() and path.name != "hidden"
        ]
        if below:
            place = self.rng.choice(below)
            if self.command("storage_statement", "excluded", f"file:{place}", "--reason", "mine"):
                self.excluded.append(place)

    def other_weir(self) -> None:
        """It takes what nobody needs, and may put it back."""
        if self.aside and self.chance(0.5):
            to, source = self.aside.pop(self.rng.randrange(len(self.aside)))
            if to.exists() and not source.exists():
                source.parent.mkdir(parents=True, exist_ok=True)
                to.rename(source)
                self.removed.discard(source)
                self.say(f"another Weir puts {source.name[:6]} back")
            return
        needed = self.needed()
        free = [
            path
            for path in self.known
            if path.exists() and path not in needed and path.name != "_metadata"
        ]
        for path in self.rng.sample(free, min(len(free), 3)):
            root = next((r for r in self.roots if path.is_relative_to(r)), None)
            if root is None:
                continue
            to = (
                root.with_name(f"{root.name}.weir-quarantine")
                / "other"
                / "0"
                / path.relative_to(root)
            )
            to.parent.mkdir(parents=True, exist_ok=True)
            path.rename(to)
            self.removed.add(path)
            self.aside.append((to, path))
            self.say(f"another Weir takes {path.name[:6]}")

    def forget(self) -> None:
        gone = [one for one in self.jobs if not one.runs or one.cluster in self.blind]
        if gone:
            one = self.rng.choice(gone)
            if not any(o.jid == one.jid and o.cluster == one.cluster and o.runs for o in self.jobs):
                JobCurrent.objects.filter(cluster=one.cluster, job_id=one.jid).delete()
                self.say(f"the row of {one} is forgotten")

    def attest_root(self) -> None:
        row = self.rng.choice(list(StorageRoot.objects.order_by("id")))
        if row is not None:
            of = [word for one in row.clusters.all() for word in ("--cluster", one.name)]
            self.command(
                "add_storage_root",
                row.uri,
                "--attest",
                "olga",
                "--replace",
                "--read-at",
                row.read_at,
                *of,
            )

    # Meanwhile

    @contextmanager
    def meanwhile(self, share: float = 0.4) -> Iterator[None]:
        """Flink does something at one moment of whatever Weir does."""
        if not self.chance(share):
            yield
            return
        hooks: list[tuple[Any, str]] = [
            (Local, "entries"),
            (audit_run, "_write_request"),
            (audit_run, "_run_spark"),
            (audit_run, "_load"),
            (TreeFiles, "move"),
            (TreeFiles, "delete"),
            (TreeFiles, "stat"),
        ]
        of, name = self.rng.choice(hooks)
        left, lock = [self.rng.randrange(8)], threading.Lock()
        method = getattr(of, name)

        def hooked(*arguments: Any, **options: Any) -> Any:
            with lock:
                left[0] -= 1
                if left[0] == -1:
                    self.mute = threading.current_thread() is not threading.main_thread()
                    self.say(f"  meanwhile, at {name}:")
                    for _ in range(self.rng.randint(1, 3)):
                        self.step(operating=False, hurried=True)
                    self.mute = False
            return method(*arguments, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of, name, hooked)
            yield

    # Days

    def step(self, *, operating: bool = True, hurried: bool = False) -> None:
        running = [one for one in self.jobs if one.runs]
        name = self.rng.choice(self.clusters)
        snaps = [s for one in self.jobs for s in one.retained if s.metadata.exists()]
        snaps += [s for s in self.savepoints if s.metadata.exists()]
        snaps = [s for s in snaps if all(path.exists() for path in s.needs)]
        choice = self.rng.random() * (1.0 if operating else 0.6)
        if not running or choice < 0.10:
            if snaps and self.chance(0.8):
                self.start_from(name, self.rng.choice(snaps))
            else:
                self.start(name)
        elif choice < 0.34:
            for one in running:
                for _ in range(self.rng.randint(0, 3)):
                    self.end_checkpoint(one)
                    self.pass_time(0.001 if hurried else 0.1)
                    self.begin_checkpoint(one)
                    self.pass_time(0.001 if hurried else 0.1)
                    if self.chance(0.7):
                        self.end_checkpoint(one)
        elif choice < 0.43:
            self.end(
                self.rng.choice(running),
                self.rng.choice(["CANCELED", "FAILED", "FINISHED", "CANCELED", "CANCELED"]),
            )
        elif choice < 0.47:
            self.fail_over(self.rng.choice(running))
        elif choice < 0.50:
            self.savepoint(self.rng.choice(running))
        elif choice < 0.515 and not hurried:
            self.move_snapshot()
        elif choice < 0.54 and not hurried and (name in self.blind or self.chance(0.4)):
            if name in self.blind:
                self.blind.discard(name)
                self.say(f"{name} is seen again")
            else:
                self.blind.add(name)
                self.say(f"{name} is not seen")
        elif choice < 0.56:
            if not hurried:
                self.forget()
        elif choice < 0.60:
            if not hurried:
                self.other_weir()
        elif choice < 0.73:
            self.audit()
        elif choice < 0.76:
            self.take_inventory()
        elif choice < 0.78:
            self.import_inventory()
        elif choice < 0.80:
            self.attest()
        elif choice < 0.81:
            self.take_back()
        elif choice < 0.815:
            self.exclude()
        elif choice < 0.82:
            self.attest_root()
        elif choice < 0.89:
            self.audit()
            self.plan()
        elif choice < 0.95:
            self.carry_out("apply", (PlanState.APPROVED, PlanState.HALTED))
        elif choice < 0.96:
            self.carry_out("undo", (PlanState.QUARANTINED, PlanState.HALTED))
        else:
            self.carry_out("purge", (PlanState.QUARANTINED,))

    def settle(self) -> None:
        """All is seen, audited and cleaned up, as far as Weir may."""
        for name in sorted(self.blind):
            if self.chance(0.9):
                self.blind.discard(name)
        for _ in range(3):
            for one in self.jobs:
                if one.runs:
                    self.end_checkpoint(one)
                    self.begin_checkpoint(one)
                    self.pass_time(0.1)
                    self.end_checkpoint(one)
            self.audit()
            self.pass_time(80)
        for _ in range(2):
            self.audit()
            self.plan()
            self.carry_out("apply", (PlanState.APPROVED, PlanState.HALTED))
            if self.chance(0.5):
                self.between()
            self.carry_out("purge", (PlanState.QUARANTINED,))

    def start_from(self, name: str, snap: Snap) -> None:
        free = not snap.of.runs
        modes = ["claim", "no_claim", "no_claim", "legacy"]
        mode = self.rng.choice(modes if free else modes[1:])
        taken = [one for one in self.jobs if one.restored is snap]
        if any(one.mode == "claim" for one in taken):
            return
        if mode == "claim" and taken:
            mode = "no_claim"
        if snap.of.dead:
            snap.of.dead = False
            self.say(f"{snap.of} was not dead")
        self.start(name, snap, mode)

    # The truth

    def needed(self, but_since: datetime | None = None) -> dict[Path, str]:
        """``but_since``: without jobs that began since."""
        needed: dict[Path, str] = {}

        def need(paths: Any, why: str) -> None:
            for path in paths:
                needed.setdefault(path, why)

        for one in self.jobs:
            if but_since and one.began >= but_since:
                continue
            if one.runs:
                need(one.pending, f"{one} uploads it")
                need(one.hidden, f"{one} has a handle")
                need(one.working, f"{one} works with it")
                if base := one.stands_on:
                    need(base.needs, f"{one} stands on chk-{base.number}")
                if one.backend == "forst" and one.restored:
                    need(one.restored.files, f"{one} may read what it was restored from")
                for snap in one.retained:
                    if snap.of is one:
                        need(snap.needs, f"{one} retains chk-{snap.number}")
                continue
            if one.dead or one.state == "FINISHED":
                continue
            base = one.stands_on
            if base is None or (base.savepoint and base is one.restored) or base.of.dead:
                continue
            if not self.is_succeeded(one, base):
                need(base.needs, f"{one} ended on chk-{base.number}")
        for snap in self.savepoints:
            if not snap.of.dead:
                need(snap.needs, "a savepoint, or a copy")
            else:
                need(
                    {snap.metadata, *(p for p in snap.files if p.parent == snap.folder)},
                    "a savepoint",
                )
        return needed

    def is_succeeded(self, ended: Job, base: Snap) -> bool:
        """Another job took over from there, or from a later one of that job, and is whole by its
        own; for one that has nothing of its own, another that did from where it was restored.
        """
        return any(
            other is not ended
            and other.restored is not None
            and not other.restored.savepoint
            and other.restored.of is base.of
            and other.restored.number >= base.number
            and any(all(p.is_relative_to(other.folder) for p in s.files) for s in other.since)
            for other in self.jobs
        )

    def check(self, before: dict[Path, bool], when: str) -> None:
        """What is needed is where it was; of what a plan took before that was known, nothing is
        deleted.
        """
        after, needed = self.present(), self.needed()
        came = set(self.needed(but_since=self.acting_since))
        gone = {path for path in before if path not in after and path not in self.removed}
        moved = {
            path
            for path, is_there in before.items()
            if is_there and not after.get(path) and path not in self.removed
        }
        for word, lost in (
            ("LOST", {path: needed[path] for path in gone if path in needed}),
            ("TAKEN", {path: needed[path] for path in moved if path in came and path in needed}),
            ("EXCLUDED", {p: "" for p in moved if any(map(p.is_relative_to, self.excluded))}),
            ("TORN", dict(self.torn(moved)) if when in ("apply", "purge") else {}),
        ):
            assert not lost, "\n".join(
                [
                    f"{word} at {when}:",
                    *(f"{p.relative_to(self.home)}: {why}" for p, why in lost.items()),
                    *self.log,
                ]
            )
        self.count(f"{when.split()[0]} files", len(moved | gone))
        self.removed |= gone

    def torn(self, moved: set[Path]) -> Iterator[tuple[Path, str]]:
        """Of snapshots whose ``_metadata`` stays."""
        for one in self.jobs:
            for snap in one.completed:
                if snap.metadata.exists():
                    yield from ((path, str(snap.metadata)) for path in snap.files & moved)


@contextmanager
def dying(after: int, *, late: bool) -> Iterator[None]:
    """Before or after the write of that number."""
    left = [after]

    def stepping(method: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0 and not late:
                raise Killed
            done = method(*arguments, **options)
            if left[0] < 0:
                raise Killed
            return done

        return step

    with pytest.MonkeyPatch.context() as patch:
        for of, names in ((LocalFiles, ("link", "unlink")), (PlanFolder, ("write",))):
            for name in names:
                patch.setattr(of, name, stepping(getattr(of, name)))
        yield


def play(home: Path, seed: int, steps: int = 45) -> Weeks:
    with time_machine.travel(BEGAN, tick=True) as clock:
        weeks = Weeks(home, seed, clock)
        weeks.start(weeks.clusters[0])
        for _ in range(steps):
            weeks.step()
            weeks.pass_time(weeks.rng.choice([0.3, 2, 7, 20, 30, 48]))
        weeks.settle()
        return weeks
