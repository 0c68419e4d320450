"""Plans of two Weirs in one bucket of an S3-compatible store, carried out while Flink goes on: keys
are written over, listings are short, requests fail, processes die. Nothing that a checkpoint refers
to is lost.
"""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.s3.models import FakeKey, s3_backends

from ingest.storage import buckets, tree
from ingest.storage.plan_folder import PlanFolder
from ingest.storage.roots import Root
from tests.attacks.scale import examples
from tests.ingest.metadata import writing as w
from tests.ingest.storage.test_object_store import endpoint, store
from tests.webapp.cleanup.remote import planned
from tests.webapp.cleanup.worlds import write_verdicts
from webapp.cleanup import manifest, plan_builder, plan_reader
from webapp.cleanup.applying import Applying
from webapp.cleanup.errors import CleanupError, PutBack
from webapp.cleanup.manifest import PlannedRoot
from webapp.cleanup.metadata_search import metadata_below
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.plan_reader import PlanReader
from webapp.cleanup.purging import purge
from webapp.cleanup.rate_limit import RateLimit
from webapp.cleanup.recheck import FreshAudit
from webapp.cleanup.references import Storage
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import undo
from webapp.cleanup.watching import PlannedPaths, Watch

__all__ = ["endpoint", "store"]
JOB = "0" * 32
WAYS = ("copy", "tag", "delete_marker")
TROUBLES = ["none", "kill_before", "kill_after", "error", "short", "flink", "flink", "other"]


class Killed(BaseException):
    """As a signal would: nothing on the way catches it."""


class Story:
    def __init__(self, folder: Path, endpoint: str, seed: int) -> None:
        self.rng, self.folder = Random(seed), folder
        self.way = WAYS[seed % 3]
        self.bucket = f"state-{seed}"
        self.root = f"s3://{self.bucket}/flink"
        self.s3 = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            region_name="us-east-1",
        )
        self.backend = s3_backends["123456789012"]["aws"]
        self.now = datetime.now(UTC) + timedelta(days=60)
        self.log: list[str] = []
        self.content: dict[str, bytes] = {}
        self.checkpoints: dict[int, dict[str, bytes]] = {}
        self.number = 0
        self.plans: list[list[Any]] = []
        self.lock = threading.RLock()
        self.is_dead = False
        self.s3.create_bucket(Bucket=self.bucket)
        if self.way == "delete_marker":
            self.s3.put_bucket_versioning(
                Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"}
            )

    def say(self, text: str) -> None:
        self.log.append(text)

    # Flink

    def put(self, below: str, content: bytes) -> None:
        self.backend.put_object(self.bucket, f"flink/{below}", content)
        self.content[below] = content

    def get(self, below: str) -> bytes | None:
        found = self.backend.get_object(self.bucket, f"flink/{below}")
        return found.value if isinstance(found, FakeKey) else None

    def remove(self, below: str) -> None:
        self.backend.delete_object(self.bucket, f"flink/{below}")
        self.content.pop(below, None)

    def new_file(self) -> str:
        folder = self.rng.choice(["shared", "shared", "chk-99"])
        name = f"{JOB}/{folder}/{uuid.UUID(int=self.rng.getrandbits(128))}"
        self.put(name, self.rng.randbytes(self.rng.randrange(1, 500)))
        return name

    def checkpoint(self, *old: str) -> None:
        """Refers to new files, and to ``old``, which are there."""
        self.number += 1
        names = [*old, *(self.new_file() for _ in range(self.rng.randint(0, 2)))]
        shared = {
            f"{place:06}.sst": w.file(len(self.content[name]), f"{self.root}/{name}")
            for place, name in enumerate(names)
        }
        state = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
        self.backend.put_object(
            self.bucket,
            f"flink/{JOB}/chk-{self.number}/_metadata",
            w.metadata(4, [w.operator(4, [w.subtask(4, 0, keyed=state)])]),
        )
        self.checkpoints[self.number] = {name: self.content[name] for name in names}
        self.say(f"  chk-{self.number} refers to {[n[-6:] for n in names]}")

    def visible(self) -> list[str]:
        return [name for name in sorted(self.content) if self.get(name) == self.content[name]]

    def flink(self, *, may_revive: bool = True) -> None:
        choice = self.rng.random()
        there = self.visible()
        if choice < 0.35 or not there:
            old = (
                self.rng.sample(there, min(len(there), self.rng.randint(0, 2)))
                if may_revive
                else []
            )
            self.checkpoint(*old)
        elif choice < 0.5:
            self.new_file()
        elif choice < 0.7 and len(self.checkpoints) > 1:
            number = self.rng.choice(sorted(self.checkpoints))
            self.backend.delete_object(self.bucket, f"flink/{JOB}/chk-{number}/_metadata")
            gone = self.checkpoints.pop(number)
            still = self.live()
            for name in sorted(gone):
                if name not in still and self.rng.random() < 0.3:
                    self.remove(name)
                    self.say(f"  Flink deletes {name[-6:]}")
            self.say(f"  Flink drops chk-{number}")
        elif choice < 0.9:
            free = [name for name in sorted(self.content) if name not in self.live()]
            if free:
                name = self.rng.choice(free)
                self.put(name, self.rng.randbytes(len(self.content[name]) + 1))
                self.say(f"  Flink writes over {name[-6:]}")
                if self.rng.random() < 0.5:
                    self.checkpoint(name)
        else:
            free = [name for name in there if name not in self.live()]
            if free:
                self.say("  Flink deletes one")
                self.remove(self.rng.choice(free))

    def live(self) -> dict[str, bytes]:
        return {name: content for one in self.checkpoints.values() for name, content in one.items()}

    # Weir

    def fresh(self) -> FreshAudit:
        name, rows = f"audit-{uuid.uuid4().hex[:6]}", []
        live = set(self.live())
        told = [
            {
                "audit_id": name,
                "metadata_path": f"{self.root}/{JOB}/chk-{number}/_metadata",
                "path": f"{self.root}/{below}",
            }
            for number, one in self.checkpoints.items()
            for below in one
        ]
        listed = self.s3.list_objects_v2(Bucket=self.bucket, Prefix="flink/")
        for found in listed.get("Contents", ()):
            below = found["Key"].removeprefix("flink/")
            if below.endswith("/_metadata") or below in live:
                continue
            rows.append(
                {
                    "root": self.root,
                    "path": f"{self.root}/{below}",
                    "listed_path": f"{self.root}/{below}",
                    "bytes": found["Size"],
                    "modified": found["LastModified"],
                    "first_seen_at": found["LastModified"],
                    "verdict": "orphan",
                    "reason": "unreferenced",
                    "kind": "unknown",
                    "place": "shared" if "/shared/" in below else "exclusive",
                    "cluster": "prod",
                    "job_id": JOB,
                    "unreferenced_since": self.now - timedelta(hours=12),
                }
            )
        verdicts = write_verdicts(self.folder / name, rows, name)
        references = self.folder / name / "references.parquet"
        schema = pa.schema([(c, pa.string()) for c in ("audit_id", "metadata_path", "path")])
        pq.write_table(pa.Table.from_pylist(told, schema), references)
        return FreshAudit(name, self.now, verdicts, [str(references)])

    def plan(self) -> None:
        audit = self.fresh()
        folder = PlanFolder(str(self.folder / f"plan-{audit.audit_id}"))
        root = PlannedRoot(
            self.root,
            self.root,
            f"s3://{self.bucket}/quarantine" if self.way == "copy" else "",
            self.way,
        )
        reader = planned(folder, audit, root, self.now)
        if reader.manifest.total_files:
            self.plans.append([reader, "planned"])
            self.say(f"plan {len(self.plans) - 1} of {reader.manifest.total_files}")

    def run(self, reader: PlanReader) -> tuple[Run, Watch, Storage]:
        planned = PlannedPaths(part["path"] for part in reader.parts())
        run = Run(
            PlanReader(reader.folder, reader.name),
            TreeFiles(),
            RateLimit(None),
            lambda: self.now + timedelta(hours=1),
        )
        root = Root(self.root, self.root)
        return (
            run,
            Watch(lambda: metadata_below([root]), planned, sleep=lambda s: None),
            Storage([root]),
        )

    def carry(self, plan: list[Any], verb: str) -> None:
        run, watch, storage = self.run(plan[0])
        number = self.plans.index(plan)
        self.running = run
        try:
            if verb == "apply":
                Applying(run, self, watch, storage)()
                plan[1] = "quarantined"
            elif verb == "undo":
                undo(run)
                plan[1] = "undone"
            else:
                purge(run, self, watch, storage)
                plan[1] = "purged"
        except PutBack as error:
            plan[1] = "undone"
            self.say(f"{verb} {number}: {error}")
        except CleanupError as error:
            plan[1] = "halted" if verb == "apply" else plan[1]
            self.say(f"{verb} {number}: {error}")
        else:
            journal = run.journal(verb)
            rows = [row for chunk in journal.finished_chunks() for row in journal.read(chunk).rows]
            self.say(
                f"{verb} {number}: {[(row.path[-6:], row.outcome, row.detail) for row in rows]}"
            )

    def step(self, *, nested: bool = False) -> None:
        choice = self.rng.random()
        if choice < 0.3 or not self.plans:
            self.plan() if choice < 0.15 or not self.plans else self.flink()
            return
        options = [
            (plan, verb)
            for plan in self.plans
            for state, verbs in (
                ("planned", ["apply"] * 3),
                ("halted", ["apply", "undo"]),
                ("quarantined", ["undo", "purge", "purge"]),
            )
            if plan[1] == state
            for verb in verbs
        ]
        if not options:
            self.plan()
            return
        plan, verb = self.rng.choice(options)
        if plan[1] == "busy":
            return
        was = plan[1]
        if nested:
            plan[1] = "busy"
            self.carry_again(plan, verb, was)
            return
        self.say(f"{verb} {self.plans.index(plan)}")
        plan[1] = "busy"
        with self.trouble(verb):
            self.carry_again(plan, verb, was)
        self.check(f"{verb} {self.plans.index(plan)}")

    def carry_again(self, plan: list[Any], verb: str, was: str) -> None:
        for _ in range(4):
            try:
                self.carry(plan, verb)
                break
            except (Killed, OSError):
                self.say("  killed")
                self.running._pool.shutdown()
                self.is_dead = False
                plan[1] = was if verb != "apply" else "halted"
                if verb == "apply" and self.rng.random() < 0.3:
                    verb = "undo"
        if plan[1] == "busy":
            plan[1] = was

    @contextmanager
    def trouble(self, verb: str) -> Iterator[None]:
        """Something happens at one of the first requests and writes."""
        kind = self.rng.choice(TROUBLES)
        left = [self.rng.randrange(14)]
        busy = [False]

        def hooked(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                if self.is_dead:
                    raise Killed
                if busy[0]:
                    return method(*arguments, **options)
                with self.lock:
                    what = name if name != "_call" else arguments[1]
                    if kind == "short" and not what.startswith("list_object"):
                        return method(*arguments, **options)
                    left[0] -= 1
                    strikes = left[0] == -1
                    if strikes and kind != "none":
                        self.say(f"  {kind} at {what}")
                    if not strikes or kind == "none":
                        return method(*arguments, **options)
                    if kind == "kill_before":
                        self.is_dead = True
                        raise Killed
                    if kind == "kill_after":
                        method(*arguments, **options)
                        self.is_dead = True
                        raise Killed
                    if kind == "error":
                        if self.rng.random() < 0.5:
                            method(*arguments, **options)
                        if name in ("copy", "delete", "stat"):
                            raise tree.TreeError("no")
                        raise OSError("503")
                    if kind == "short":
                        answer = dict(method(*arguments, **options))
                        for part in ("Contents", "Versions", "DeleteMarkers"):
                            answer[part] = [
                                r for r in answer.get(part, ()) if self.rng.random() < 0.5
                            ]
                        answer["IsTruncated"] = False
                        return answer
                    busy[0] = True
                    try:
                        if kind == "flink":
                            for _ in range(self.rng.randint(1, 3)):
                                self.flink(may_revive=verb != "purge")
                        else:
                            self.step(nested=True)
                    finally:
                        busy[0] = False
                    return method(*arguments, **options)

            return call

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(buckets.Bucket, "_call", hooked("_call", buckets.Bucket._call))
            for name in ("copy", "delete", "stat"):
                patch.setattr(tree, name, hooked(name, getattr(tree, name)))
            patch.setattr(PlanFolder, "write", hooked("write", PlanFolder.write))
            yield

    def check(self, when: str) -> None:
        for name, content in self.live().items():
            if not self.holds(name, content):
                self.fail(f"LOST {name[-6:]} at {when}")

    def holds(self, name: str, content: bytes) -> bool:
        """Whether the content is there, or waits."""
        if self.get(name) == content:
            return True
        keys = self.backend.buckets[self.bucket].keys
        return any(
            isinstance(one, FakeKey) and one.value == content
            for key in list(keys)
            if key.endswith(name)
            for one in keys.getlist(key)
        )

    def fail(self, why: str) -> None:
        raise AssertionError("\n".join([why, f"way {self.way}", *self.log]))

    def end(self) -> None:
        """Every plan that may be is put back: all but what was purged is readable."""
        for plan in self.plans:
            if plan[1] in ("quarantined", "halted"):
                self.carry(plan, "undo")
        for name, content in self.live().items():
            if self.get(name) != content:
                self.fail(f"HIDDEN {name[-6:]} at the end")
        purged = set()
        for plan in self.plans:
            journal = self.run(plan[0])[0].journal("purge")
            purged |= {
                row.path
                for chunk in journal.finished_chunks()
                for row in journal.read(chunk).rows
                if row.outcome == "purged"
            }
        for name, content in self.content.items():
            if self.get(name) == content:
                continue
            if self.holds(name, content):
                self.fail(f"LEFT BEHIND {name[-6:]} at the end")
            if f"{self.root}/{name}" not in purged:
                self.fail(f"GONE UNTOLD {name[-6:]} at the end")


def play(folder: Path, endpoint: str, seed: int, steps: int = 25) -> Story:
    story = Story(folder, endpoint, seed)
    for _ in range(7):
        story.new_file()
    story.checkpoint()
    for _ in range(steps):
        if story.rng.random() < 0.4:
            story.flink()
        story.step()
    story.end()
    return story


@pytest.mark.parametrize("seed", range(examples(3, 300)))
def test_nothing_that_a_checkpoint_refers_to_is_lost(
    store: Any, endpoint: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (plan_builder, plan_reader, manifest):
        monkeypatch.setattr(module, "CHUNK_ROWS", 3)
    play(tmp_path, endpoint, seed)
