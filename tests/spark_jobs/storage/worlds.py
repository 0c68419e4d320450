"""Random worlds of checkpoint storage, each a truth of its own: which files are there, what really
refers to what.

A world says more than an audit can see. Snapshots may be unreadable, unlisted or younger than the
listing, jobs may run unseen, one file may have two spellings. ``Snapshot.needs`` is always the
truth.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
GUARD = timedelta(hours=72)
FAILURES = (
    "empty_metadata",
    "incomplete_metadata",
    "damaged_metadata",
    "unsupported_metadata",
    "unreadable_file",
    "no_magic_number",
)


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


@dataclass
class Planted:
    """A file that is there.

    ``seen_before``: an audit of that time listed it, ``unreferenced_since`` found nothing for it.
    """

    path: str
    size: int
    modified: datetime | None
    first_seen: datetime | None = None
    unreferenced_since: datetime | None = None
    last_referred: datetime | None = None
    listed: bool = True
    alias_of: str = ""
    """The path that this is a second name of."""
    surely_dead: bool = False
    """Nothing ever referred to it, its job is known and ended or goes on completing checkpoints,
    and its times are plain.
    """


@dataclass
class Snapshot:
    """``needs``: canonical paths; ``written``: how its ``_metadata`` spells them."""

    path: str
    job: "Job | None"
    number: int
    needs: tuple[str, ...]
    written: dict[str, str]
    modified: datetime
    listed: bool = True
    failure: str = ""
    exists: bool = True
    never_completed: bool = False
    found_later: bool = False
    """Not listed, but read: it took the place of one that was gone when it was to be read."""

    @property
    def is_read(self) -> bool:
        return (self.listed or self.found_later) and not self.failure


@dataclass
class Job:
    cluster: str
    job_id: str
    terminal: bool
    seen: bool
    known: bool
    root: str = ""
    """Where its directory lies: a root, or a directory of its own below one."""
    restored: Snapshot | None = None
    restored_at: datetime | None = None
    last_completed: datetime | None = None
    in_flight_since: datetime | None = None
    ended: list[tuple[int, bool, bool]] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    attested_at: datetime | None = None
    """When somebody attested it to be dead."""
    attested_as: str = "directory"
    """What the statement is about: whatever job writes that directory, this ``job`` of this cluster,
    or ``both``.
    """
    path_reported: bool = True
    """Whether its cluster says where its checkpoints lie."""
    restored_path_reported: bool = True
    started: datetime | None = None
    redeployed: datetime | None = None
    """When the oldest of its attempts that may run were deployed."""
    databases: set[str] = field(default_factory=set)
    """Files that its attempts read as long as it runs; no ``_metadata`` need name them."""
    ended_at: datetime | None = None

    @property
    def directory(self) -> str:
        return f"{self.root}/{self.job_id}"

    @property
    def last_written(self) -> datetime | None:
        completed = [
            snapshot for snapshot in self.snapshots if not snapshot.never_completed
        ] or self.snapshots
        return completed[-1].modified

    @property
    def last_completed_id(self) -> int | None:
        failed = {number for number, completed, _ in self.ended if not completed}
        numbers = [snapshot.number for snapshot in self.snapshots if snapshot.number not in failed]
        return max(numbers, default=None) if self.last_completed else None

    @property
    def last_path(self) -> str | None:
        if not self.path_reported or not self.last_completed:
            return None
        return f"{self.directory}/chk-{self.last_completed_id or 1}"

    @property
    def may_run(self) -> bool:
        return not (self.terminal and self.seen and self.known)


@dataclass
class World:
    seed: int
    root: str
    files: dict[str, Planted] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    earlier: list[tuple[str, str, bool]] = field(default_factory=list)
    """(_metadata that is gone, path it referred to, whether its discard was seen)"""
    never_listed: set[str] = field(default_factory=set)
    """Of these _metadata those that were read without having been listed."""
    unlisted: str = ""
    foreign: set[str] = field(default_factory=set)
    seen_again: dict[str, datetime] = field(default_factory=dict)
    """Path → when an audit first saw it under a second name."""
    listed_at: datetime | None = None
    lost: set[str] = field(default_factory=set)
    """Directories of jobs whose files an audit lacked when a checkpoint that referred to them
    vanished.
    """
    """When an audit listed the roots and lacked ``lacked``, which no audit knows any more."""
    lacked: set[str] = field(default_factory=set)
    excluded: str = ""
    """A directory that an operator excluded."""
    acknowledged: dict[str, datetime] = field(default_factory=dict)
    """``_metadata`` that an operator found to be no checkpoint, and of what time it was then."""
    copied: str = ""
    """The directory of a job that somebody copied to ``backup`` beside it."""
    second_root: str = ""
    """Another root: of other jobs and savepoints, or a second name of all that lies in the first
    (``aliased``).
    """
    aliased: str = ""
    """How far nobody declared it: which of data and ``_metadata`` were listed under the second
    name, and which name was written.
    """

    @property
    def roots(self) -> list[str]:
        return (
            [self.root, self.second_root]
            if self.second_root and not is_within(self.second_root, self.root)
            else [self.root]
        )

    def root_of(self, path: str) -> str:
        return next(root for root in self.roots if is_within(path, root))

    def really(self, paths: Iterable[str]) -> set[str]:
        """The same files by their first names."""
        return {self.files[path].alias_of or path if path in self.files else path for path in paths}


def is_within(path: str, root: str) -> bool:
    return path.startswith(f"{root}/")


def world(seed: int) -> World:
    return _Maker(seed).make()


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        rng = self.rng
        root = rng.choice(
            (f"s3://bucket-{seed}/flink", f"hdfs://nn-{seed}/flink", f"file:/mnt/w{seed}/flink")
        )
        self.world = World(seed, root)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def uuid(self) -> str:
        digits = f"{self.rng.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def make(self) -> World:
        if self.chance(0.15):
            self.world.second_root = self.world.root.replace("/flink", "/other")
        before: Job | None = None
        for generation in range(self.rng.randint(1, 4)):
            before = self.job(before if self.chance(0.7) else None, 160 - 30 * generation)
        if self.chance(0.25):
            self.repeat_id()
        if self.chance(0.35):
            self.end_lately()
        self.foreign_files()
        if self.chance(0.12):
            self.second_job_of_one_id()
        if self.chance(0.1):
            self.unlist_something()
        if not self.world.second_root and self.chance(0.1):
            self.alias_everything()
        if self.chance(0.1):
            self.list_short()
        if self.chance(0.1):
            self.begin_anew()
        if self.chance(0.1):
            self.end_early()
        if not self.world.aliased and self.chance(0.12):
            self.copy_beside()
        if self.chance(0.3):
            self.attest_dead()
        if self.chance(0.12):
            self.exclude()
        return self.world

    # Files

    def plant(self, path: str, hours_old: float | None = None, **more: object) -> str:
        """An old file that two audits saw, unless said otherwise."""
        old = self.rng.uniform(100, 400) if hours_old is None else hours_old
        seen = ago(min(old, 96)) if old > 24 else None
        self.world.files[path] = Planted(
            path, self.rng.randrange(1, 1 << 22), ago(old), first_seen=seen, **more
        )  # type: ignore[arg-type]
        return path

    def odd_time(self, path: str) -> None:
        file = self.world.files[path]
        file.surely_dead = False
        file.modified = self.rng.choice(
            (None, NOW + timedelta(days=3), datetime(1970, 1, 1, tzinfo=UTC))
        )
        if self.chance(0.5):
            file.first_seen = None

    def directory(self, job: Job) -> str:
        return job.directory

    def any_root(self) -> str:
        return self.rng.choice(self.world.roots)

    # Jobs

    def job(self, before: Job | None, hours: float, made: Job | None = None) -> Job:
        rng = self.rng
        unreachable = self.chance(0.06)
        job = made or Job(
            cluster=rng.choice(("c1", "c2")),
            job_id=f"{rng.getrandbits(128):032x}",
            terminal=self.chance(0.5),
            seen=not unreachable,
            known=not self.chance(0.05),
            root=self.any_root(),
            path_reported=not self.chance(0.05),
        )
        self.world.jobs.append(job)
        inherited: tuple[str, ...] = ()
        if before and before.snapshots and job.known:
            job.restored = before.snapshots[-1]
            job.restored_at = job.restored.modified + timedelta(hours=1)
            job.restored_path_reported = not self.chance(0.04)
            if self.chance(0.5):
                inherited = tuple(path for path in job.restored.needs if "/shared/" in path)
            if self.chance(0.7):
                before.terminal = True
                if before.last_completed and before.last_completed < ago(1):
                    before.last_completed = before.last_written
                elif before.last_completed:
                    # Its last checkpoint may lie elsewhere.
                    for file in self.world.files.values():
                        file.surely_dead = file.surely_dead and not is_within(
                            file.path, before.directory
                        )
        self.checkpoints(job, inherited, hours)
        self.litter(job)
        if job.snapshots and not job.terminal and self.chance(0.15):
            self.overtake(job)
        if self.chance(0.25):
            self.savepoint(job)
        if job.restored and self.chance(0.12):
            # Claimed, and deleted since; or deleted by somebody, and this job has nothing else yet.
            job.restored.exists = job.restored.listed = False
            self.world.files.pop(job.restored.path, None)
        return job

    def checkpoints(self, job: Job, inherited: tuple[str, ...], hours: float) -> None:
        rng = self.rng
        shared = [
            self.plant(f"{self.directory(job)}/shared/{self.uuid()}")
            for _ in range(rng.randint(1, 6))
        ]
        # A restored job goes on counting where the one before it was.
        first = rng.randint(1, 40) + (job.restored.number if job.restored else 0)
        taken = {snapshot.path for snapshot in self.world.snapshots}
        while any(
            f"{self.directory(job)}/chk-{first + past}/_metadata" in taken for past in range(3)
        ):
            first += 40
        count = 0 if self.chance(0.12) else rng.randint(1, 3)
        for number in range(first, first + count):
            start = max(0, len(shared) - 4)
            own = rng.sample(shared[start:], rng.randint(1, min(4, len(shared) - start)))
            folder = f"{self.directory(job)}/chk-{number}"
            own += [self.plant(f"{folder}/{self.uuid()}") for _ in range(rng.randint(0, 2))]
            kept = inherited if self.chance(0.6) else ()
            self.snapshot(
                f"{folder}/_metadata", job, number, (*own, *kept), hours - 8 * (number - first)
            )
        if count and not self.chance(0.1):
            job.last_completed = job.last_written if job.terminal else ago(rng.uniform(1, 40))
        if not count and job.terminal and self.chance(0.7):
            # Flink deleted all that it completed when it was cancelled.
            job.last_completed = ago(hours)
        if not job.terminal and self.chance(0.4):
            job.in_flight_since = ago(rng.choice((0.1, 2, 300)))
        for path in shared:
            if not any(path in snapshot.needs for snapshot in self.world.snapshots):
                self.dead(job, path)

    def snapshot(
        self, path: str, job: Job | None, number: int, needs: tuple[str, ...], hours: float
    ) -> Snapshot:
        snapshot = Snapshot(
            path, job, number, needs, {one: self.spelled(one) for one in needs}, ago(hours)
        )
        self.plant(path, hours)
        self.world.snapshots.append(snapshot)
        if job and "/chk-" in path:
            job.snapshots.append(snapshot)
        if self.chance(0.04):
            snapshot.failure = self.rng.choice(FAILURES)
            if snapshot.failure == "empty_metadata":
                # It is written, or its writer died: what it may refer to, others do until then.
                snapshot.needs, snapshot.written = (), {}
            if self.chance(0.3) and job and job.known and job.seen and job.cluster in ("c1", "c2"):
                # Torn because it never completed: then it refers to nothing.
                snapshot.never_completed, snapshot.needs = True, ()
                job.ended.append((number, False, False))
        elif self.chance(0.02):
            self.odd_time(path)
        return snapshot

    def overtake(self, job: Job) -> None:
        """While the root is listed and read a checkpoint completes, and those before it may be
        deleted.
        """
        last = job.snapshots[-1]
        recent = self.plant(
            f"{self.directory(job)}/shared/{self.uuid()}", 0.01, listed=self.chance(0.5)
        )
        kept = tuple(path for path in last.needs if "/shared/" in path and self.chance(0.7))
        number = last.number + 1
        path = f"{self.directory(job)}/chk-{number}/_metadata"
        after = Snapshot(
            path,
            job,
            number,
            (*kept, recent),
            {one: one for one in (*kept, recent)},
            NOW + timedelta(minutes=1),
            listed=False,
        )
        how = self.rng.choice(("beside", "unseen", "unread", "found_later"))
        for one in job.snapshots if how != "beside" else ():
            one.exists = False
            if how == "unseen":
                one.listed = False
                self.world.files.pop(one.path, None)
            else:
                one.failure = "vanished_metadata"
        after.found_later = how == "found_later"
        job.last_completed = ago(0.5)
        self.world.snapshots.append(after)

    def spelled(self, path: str) -> str:
        if self.chance(0.1):
            return self.rng.choice(
                (
                    path.replace("s3://", "s3a://"),
                    path.replace("/flink/", "//flink/./"),
                    path.replace("hdfs://", "HDFS://"),
                )
            )
        if self.chance(0.004):
            # A spelling nobody declared: another name of the same place.
            return (
                path.replace("bucket-", "alias-")
                .replace("nn-", "nameservice-")
                .replace("/mnt/", "/data/")
            )
        return path

    # What is left behind

    def litter(self, job: Job) -> None:
        root = self.directory(job)
        for _ in range(self.rng.randint(0, 3)):
            self.dead(
                job,
                self.plant(f"{root}/shared/{self.uuid()}", self.rng.choice((2, 30, 90, 200, 300))),
            )
        if self.chance(0.3):
            number = self.rng.randint(500, 510)
            self.dead(job, self.plant(f"{root}/chk-{number}/{self.uuid()}"))
            if self.chance(0.5):
                job.ended.append((number, False, False))
        for place in (
            "taskowned",
            "dstl",
            f"shared/job_{job.job_id}_op_{'a' * 32}_1_2",
            f"taskowned/job_{job.job_id}_tm_x",
        ):
            if self.chance(0.2):
                self.dead(job, self.plant(f"{root}/{place}/{self.uuid()}"), plain=False)
        if self.chance(0.15):
            self.was_referred(job)
        if self.chance(0.2):
            self.databases(job)

    def databases(self, job: Job) -> None:
        """ForSt's: of an attempt before the last restart of all tasks, and of one after it."""
        job.started, job.redeployed = ago(450), self.rng.choice((ago(200), ago(200), None))
        for attempt, hours in ((0, 300), (1, 300), (1, 150)):
            folder = f"{self.directory(job)}/shared/op_Count_{'a' * 32}__1_2__attempt_{attempt}/db"
            path = self.plant(f"{folder}/{self.uuid()}", hours)
            self.dead(job, path, plain=False)
            if hours == 150 or (attempt and job.redeployed is None):
                job.databases.add(path)

    def dead(self, job: Job, path: str, plain: bool = True) -> None:
        file = self.world.files[path]
        if self.chance(0.85):
            file.unreferenced_since = file.first_seen
        goes_on = job.last_path is not None and (
            job.terminal or (job.in_flight_since is None and bool(job.snapshots))
        )
        assert file.modified
        old = file.modified < ago(80) and file.first_seen is not None and file.first_seen < ago(80)
        file.surely_dead = (
            plain
            and goes_on
            and old
            and job.seen
            and job.known
            and file.unreferenced_since is not None
        )
        if self.chance(0.04):
            self.odd_time(path)

    def was_referred(self, job: Job) -> None:
        """Its referrer is gone: discarded, or moved to where no audit looks."""
        path = self.plant(f"{self.directory(job)}/shared/{self.uuid()}")
        number, discarded = self.rng.randint(700, 799), self.chance(0.5)
        self.world.files[path].unreferenced_since = (
            self.world.files[path].first_seen if self.chance(0.5) else None
        )
        directory = self.directory(job)
        if number % 4 == 0:
            # It lies below what was a root once.
            directory, discarded = f"{self.world.root}-before/{job.job_id}", False
        self.world.earlier.append((f"{directory}/chk-{number}/_metadata", path, discarded))
        if discarded:
            job.ended.append((number, True, True))

    def savepoint(self, job: Job) -> None:
        renamed = self.chance(0.2)
        name = (
            "my-savepoint"
            if renamed
            else f"savepoint-{job.job_id[:6]}-{self.rng.getrandbits(48):012x}"
        )
        folder = f"{self.any_root()}/{name}"
        own = tuple(self.plant(f"{folder}/{self.uuid()}") for _ in range(2))
        others = [path for path in self.world.files if "/shared/" in path]
        native = tuple(self.rng.sample(others, 1)) if others and self.chance(0.2) else ()
        for path in native:
            self.world.files[path].surely_dead, self.world.files[path].unreferenced_since = (
                False,
                None,
            )
        self.snapshot(f"{folder}/_metadata", None if renamed else job, 7, own + native, 110)
        self.world.foreign.update(own)

    # Faults of the world as a whole

    def foreign_files(self) -> None:
        names = (
            "ha/submittedJobGraph123",
            "jars/app.jar",
            "README",
            f"{'b' * 32}/shared/notes.txt",
            f"{'b' * 32}/shared/db/000001.sst",
        )
        for name in self.rng.sample(names, 2):
            self.world.foreign.add(self.plant(f"{self.world.root}/{name}"))
        if self.chance(0.1):
            self.world.foreign.add(self.plant(f"{self.world.root}/chk-3/{self.uuid()}"))

    def second_job_of_one_id(self) -> None:
        twin = self.rng.choice(self.world.jobs)
        if not twin.known:
            return
        other = "c2" if twin.cluster == "c1" else "c1"
        if not any(job.cluster == other and job.job_id == twin.job_id for job in self.world.jobs):
            self.world.jobs.append(
                Job(
                    other,
                    twin.job_id,
                    terminal=self.chance(0.5),
                    seen=True,
                    known=True,
                    root=twin.root,
                )
            )

    def end_lately(self) -> None:
        """A job went on until a while ago, and its last checkpoint is not listed yet.

        Another one needs files of it that was itself succeeded.
        """
        origins = {
            id(job.restored.job): job.restored.job for job in self.world.jobs if job.restored
        }
        for heir in self.world.jobs:
            origin = heir.restored.job if heir.restored else None
            needs = [path for snapshot in heir.snapshots for path in snapshot.needs]
            if (
                origin
                and id(heir) in origins
                and any(is_within(path, origin.directory) for path in needs)
            ):
                origin.terminal, origin.last_completed = True, ago(self.rng.uniform(1, 60))
                for snapshot in origin.snapshots:
                    snapshot.exists = snapshot.listed = False
                    self.world.files.pop(snapshot.path, None)

    def repeat_id(self) -> None:
        """An application of another cluster has the id of a job, as all have under high
        availability.

        It writes elsewhere, or to the very directory; it may stem from that job, and another job
        from it.
        """
        like = self.rng.choice(self.world.jobs)
        elsewhere = [
            f"{like.root}/app-b",
            *(root for root in self.world.roots if root != like.root),
        ]
        again = Job(
            "c2" if like.cluster == "c1" else "c1",
            like.job_id,
            terminal=self.chance(0.4),
            seen=True,
            known=not self.chance(0.1),
            root=like.root if self.chance(0.2) else self.rng.choice(elsewhere),
            path_reported=not self.chance(0.1),
        )
        # What the one discarded the other may still have.
        numbers = [
            int(gone.split("/chk-")[1].split("/")[0])
            for gone, _, _ in self.world.earlier
            if is_within(gone, like.directory)
        ]
        again.ended += [(number, True, True) for number in numbers if self.chance(0.7)]
        self.job(self.rng.choice(self.world.jobs) if self.chance(0.5) else None, 60, again)
        if self.chance(0.6):
            self.job(again, 20)

    def alias_everything(self) -> None:
        """The same directory is audited under a second name, or all of it lies in itself once more;
        references name one of the two.
        """
        world = self.world
        how = self.rng.choice(
            ("whole", "whole", "other_name_written", "nested", "data_only", "metadata_only")
        )
        world.aliased = how
        world.second_root = (
            f"{world.root}/again"
            if how == "nested"
            else world.root.replace("/flink", "/mnt-flink").replace("nn-", "ns-")
        )

        def second(path: str) -> str:
            return path.replace(world.root, world.second_root, 1)

        for path, file in list(world.files.items()):
            is_metadata = path.endswith("/_metadata")
            if (
                (how == "data_only" and is_metadata)
                or (how == "metadata_only" and not is_metadata)
                or self.chance(0.02)
            ):
                continue
            # Under the name that no reference gives, audits before found nothing that needs it.
            other, file.surely_dead = replace(file, path=second(path), alias_of=path), False
            unnamed = file if how == "other_name_written" else other
            unnamed.unreferenced_since = unnamed.first_seen
            world.files[other.path] = replace(other, surely_dead=False)
            if path in world.foreign:
                world.foreign.add(second(path))
        for snapshot in list(world.snapshots):
            if how == "other_name_written":
                snapshot.written = {
                    path: second(written) for path, written in snapshot.written.items()
                }
            if second(snapshot.path) in world.files:
                world.snapshots.append(
                    replace(snapshot, path=second(snapshot.path), written=dict(snapshot.written))
                )

    def list_short(self) -> None:
        """An audit between lacked the directory of a job, without an error; nobody knows who
        referred to it.
        """
        directory, self.world.listed_at = self.directory(self.rng.choice(self.world.jobs)), ago(48)
        for path, file in self.world.files.items():
            if (
                is_within(path, directory)
                and file.first_seen
                and file.modified
                and file.modified < ago(72)
            ):
                self.world.files[path] = replace(
                    file, first_seen=None, unreferenced_since=None, surely_dead=False
                )
                self.world.lacked.add(path)
        if self.chance(0.3):
            self.world.lost.add(directory)

    def begin_anew(self) -> None:
        """What a job left was left by an earlier run under its id, of which nobody remembers the
        end.
        """
        job = self.rng.choice(self.world.jobs)
        job.started = ago(90)
        for file in self.world.files.values():
            file.surely_dead = file.surely_dead and not is_within(file.path, job.directory)

    def end_early(self) -> None:
        """Somebody of whom nobody knows wrote to the directory of a job that had ended."""
        if ended := [job for job in self.world.jobs if job.terminal]:
            job = self.rng.choice(ended)
            job.ended_at = ago(300)
            for file in self.world.files.values():
                file.surely_dead = file.surely_dead and not is_within(file.path, job.directory)

    def copy_beside(self) -> None:
        """Another file for each of a job, with the same bytes: what the copied ``_metadata`` names by
        its place alone means the copies, everything else the originals.
        """
        world, job = self.world, self.rng.choice(self.world.jobs)
        world.copied = job.directory

        def copy(path: str) -> str:
            return path.replace(job.directory, f"{job.root}/backup/{job.job_id}", 1)

        for path, file in list(world.files.items()):
            if is_within(path, job.directory) and not self.chance(0.1):
                world.files[copy(path)] = replace(file, path=copy(path), surely_dead=False)
                if path in world.foreign:
                    world.foreign.add(copy(path))
        for snapshot in list(world.snapshots):
            if is_within(snapshot.path, job.directory) and copy(snapshot.path) in world.files:
                needs = {
                    path: copy(path)
                    if is_within(path, snapshot.path.removesuffix("/_metadata"))
                    else path
                    for path in snapshot.needs
                }
                written = {
                    (to := needs.get(path, path)): spelled if to == path else to
                    for path, spelled in snapshot.written.items()
                }
                world.snapshots.append(
                    replace(
                        snapshot,
                        path=copy(snapshot.path),
                        needs=tuple(needs.values()),
                        written=written,
                    )
                )

    def attest_dead(self) -> None:
        """Of jobs that nobody reports this is true; of one that its cluster reports to run it is
        not.
        """
        job = self.rng.choice(self.world.jobs)
        at = ago(self.rng.choice((1, 20, 50, 85)))
        written = [one.modified for one in self.world.snapshots if one.job is job]
        if not job.known and max(written, default=at) > at:
            return
        job.attested_at = at
        for file in self.world.files.values():
            file.surely_dead = file.surely_dead and not is_within(file.path, job.directory)

    def exclude(self) -> None:
        job = self.rng.choice(self.world.jobs)
        self.world.excluded = self.rng.choice((job.directory, f"{job.root}/backup"))
        for file in self.world.files.values():
            file.surely_dead = file.surely_dead and not is_within(file.path, self.world.excluded)

    def unlist_something(self) -> None:
        job = self.rng.choice(self.world.jobs)
        self.world.unlisted = f"{self.directory(job)}/{self.rng.choice(('shared', 'chk-'))}"
        for file in self.world.files.values():
            if file.path.startswith(self.world.unlisted):
                file.listed = False
        for snapshot in self.world.snapshots:
            snapshot.listed = snapshot.listed and not snapshot.path.startswith(self.world.unlisted)
