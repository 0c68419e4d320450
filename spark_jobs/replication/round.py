"""Updates a copy to the newest checkpoint: plan → copy files in batches → check sizes → write the
_metadata with new paths → delete files that only older copies needed. A killed run is continued;
until the new _metadata is written, the previous copy is complete. Paths of a new kind of handle are
rewritten if its reader calls ``reading.path`` (``ingest.metadata.rewriting``).
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import IngestError, Refused
from ingest.metadata.dialects import MetadataError
from ingest.metadata.files import MetadataFile
from ingest.metadata.handles import handles
from ingest.metadata.reader import read_pieces
from ingest.metadata.rewriting import rewrite
from ingest.storage import tree
from ingest.storage.identities import overlapping
from ingest.storage.roots import Root
from ingest.uris import canonical, is_below
from spark_jobs.replication import replica as records
from spark_jobs.replication.copying import CopyAll, Failure, batches, in_threads, origin_of
from spark_jobs.replication.names import copy_name, names_of
from spark_jobs.replication.needs import needed_files
from spark_jobs.replication.origin import Origin
from spark_jobs.replication.plan import Plan, entries_of, unneeded
from spark_jobs.replication.replica import Ledger, Replica
from spark_jobs.replication.request import COMPLETE, NOTHING, UP_TO_DATE, Request, Result

LARGEST_METADATA_BYTES = 1 << 30
MOST_OVERTAKEN = 5
"""Checkpoints that one run tries if each is deleted while it is copied."""

Say = Callable[[str], None]


class NotCopied(IngestError):
    """A round ended before its copy was complete; the previous copy remains."""


class Overtaken(NotCopied):
    """Files of the checkpoint were deleted while it was copied."""


def replicate(
    request: Request, copy_all: CopyAll = in_threads, say: Say = lambda _: None
) -> Result:
    """Raises Refused, NotCopied, TreeError and the errors of listing."""
    refuse_taken(request)
    return _Run(request, origin_of(request), Replica.open(request), copy_all, say).run()


def refuse_taken(request: Request) -> None:
    """Raises Refused if the destination overlaps a registered root or another taken directory; the
    message does not reveal its owner.
    """
    origin = origin_of(request)
    origin.root_of(request.source)
    destination = Root.of(request.destination, request.read_at, origin.spellings)
    taken = [
        *origin.roots,
        *(Root.of(uri, read_at, origin.spellings) for uri, read_at in request.taken),
    ]
    if any(overlapping(destination, other, origin.spellings) for other in taken):
        raise Refused(
            f"The destination {request.destination} is taken: a copy lies neither in or around a "
            "storage root nor in or around another copy. Name another directory."
        )


@dataclass
class _Run:
    request: Request
    origin: Origin
    replica: Replica
    copy_all: CopyAll
    say: Say
    overtaken: list[int] = field(default_factory=list)

    def run(self) -> Result:
        for _ in range(MOST_OVERTAKEN):
            ledger = self.replica.ledger()
            plan = self._next_plan(ledger)
            if plan is None:
                return self._result(
                    NOTHING if ledger.plan is None else UP_TO_DATE, ledger, self._finish(ledger)
                )
            try:
                self._copy(plan, ledger)
            except Overtaken as error:
                if not self._is_overtaken(plan):
                    raise
                self.say(f"checkpoint {plan.checkpoint_id} was overtaken: {error}")
                self.overtaken.append(plan.checkpoint_id)
                continue
            self._complete(plan)
            ledger = self.replica.ledger()
            return self._result(COMPLETE, ledger, self._finish(ledger))
        raise NotCopied(
            f"Checkpoints {self.overtaken} went while they were copied; retain more of them "
            "(num-retained), or copy faster."
        )

    def _next_plan(self, ledger: Ledger) -> Plan | None:
        for checkpoint_id, file in self.origin.checkpoints(self.request.source):
            modified = file.modified.isoformat() if file.modified else None
            key = (file.path, file.size, modified)
            if ledger.plan is not None and ledger.plan.metadata_key == key:
                return None
            if (
                ledger.open_plan is not None
                and ledger.open_plan.metadata_key == key
                and self.replica.read(ledger.open_plan.round, records.ORIGIN) is not None
            ):
                self.say(f"going on with checkpoint {checkpoint_id}")
                return ledger.open_plan
            try:
                return self._make_plan(checkpoint_id, file, modified, ledger)
            except (MetadataError, FileNotFoundError) as error:
                self.say(f"checkpoint {checkpoint_id} is left out: {error}")
        return None

    def _make_plan(
        self, checkpoint_id: int, file: MetadataFile, modified: str | None, ledger: Ledger
    ) -> Plan:
        if (file.size or 0) > LARGEST_METADATA_BYTES:
            raise Refused(
                f"{file.path} has {file.size:,} bytes; at most {LARGEST_METADATA_BYTES:,} are read."
            )
        with file.open() as stream:
            content = stream.read(LARGEST_METADATA_BYTES + 1)
        with _scratch(content) as metadata_file:
            pieces = read_pieces(metadata_file.open, file.directory)
            needs = needed_files(pieces, file.directory, self.origin.spellings)
        number = ledger.round + 1
        moved_to = copy_name(file.directory)
        if f"{moved_to}/_metadata" in ledger.names:
            moved_to += f"-{number}"
        names = names_of(needs, file.directory, moved_to)
        sizes = self.replica.sizes(ledger.files)
        intact = {name: size for name, size in sizes.items() if size == ledger.files[name].bytes}
        metadata_name = f"{moved_to}/_metadata"
        plan = Plan(
            round=number,
            checkpoint_id=checkpoint_id,
            metadata_path=file.path,
            metadata_bytes=len(content),
            metadata_modified=modified,
            metadata_name=metadata_name,
            entries=entries_of(needs, names, intact),
            delete=unneeded(ledger.names, {metadata_name, *names.values()}),
        )
        self.replica.write(number, records.PLAN, plan.content)
        self.replica.write(number, records.ORIGIN, content)
        if ledger.incomplete:
            # The records of overtaken checkpoints must not accumulate.
            self.replica.write_copied(number, ledger.files.values())
            self.replica.forget(ledger.incomplete)
        self.say(
            f"checkpoint {plan.checkpoint_id}: {len(plan.files_to_copy):,} of "
            f"{len(plan.entries):,} files to copy, {len(plan.delete):,} to delete"
        )
        return plan

    def _copy(self, plan: Plan, ledger: Ledger) -> None:
        self._refuse_withheld(plan)
        names = [entry.name for entry in plan.entries]
        sizes = self.replica.sizes(names)
        # Files that an interrupted round did not record are compared with the original.
        to_copy = [
            entry
            for entry in plan.entries
            if entry.name not in ledger.files or sizes.get(entry.name) != entry.bytes
        ]
        failures = [
            failure
            for batch_failures in self.copy_all(self.request, plan.round, list(batches(to_copy)))
            for failure in batch_failures
        ]
        if failures:
            raise _not_copied(failures)
        sizes = self.replica.sizes(names)
        missing = [entry.name for entry in plan.entries if sizes.get(entry.name) != entry.bytes]
        if missing:
            raise NotCopied(
                f"{len(missing):,} files are not in the copy although they were copied, "
                f"{missing[0]} among them."
            )

    def _refuse_withheld(self, plan: Plan) -> None:
        refused = []
        for entry in plan.entries:
            try:
                self.origin.root_of(entry.path)
            except Refused as error:
                refused.append(error)
        if refused:
            raise NotCopied(
                f"Checkpoint {plan.checkpoint_id} is not copied: it needs {len(refused):,} of "
                f"{len(plan.entries):,} files from elsewhere. The first: {refused[0]}"
            )

    def _complete(self, plan: Plan) -> None:
        with (
            _scratch(self.replica.read(plan.round, records.ORIGIN) or b"") as original,
            _scratch(b"") as rewritten,
        ):
            with Path(rewritten.path).open("wb") as out:
                rewrite(original.open, out, self._mover(plan))
            self._refuse_outside(plan, MetadataFile(rewritten.path))
            size = Path(rewritten.path).stat().st_size
            target = self.replica.at(plan.metadata_name)
            tree.copy_first(rewritten.path, target, size, (None, self.replica.reading))
        manifest = {
            "checkpoint_id": plan.checkpoint_id,
            "plan": plan.name,
            "at": datetime.now(UTC).isoformat(),
            "metadata_bytes": size,
        }
        self.replica.write(plan.round, records.COMPLETE, json.dumps(manifest).encode())

    def _mover(self, plan: Plan) -> Callable[[str], str]:
        names = {entry.path: entry.name for entry in plan.entries}
        source = plan.metadata_path.removesuffix("/_metadata")
        target = plan.metadata_name.removesuffix("/_metadata")

        def path_in_copy(path: str) -> str:
            canonical_path = canonical(path, self.origin.spellings)
            # A path without a file in the plan is a directory of merged files.
            name = (
                f"{target}{canonical_path[len(source) :]}"
                if is_below(canonical_path, source)
                else copy_name(canonical_path)
            )
            return f"{self.replica.uri}/{names.get(canonical_path, name)}"

        return path_in_copy

    def _refuse_outside(self, plan: Plan, file: MetadataFile) -> None:
        directory = f"{self.replica.uri}/{plan.metadata_name.removesuffix('/_metadata')}"
        planned = {f"{self.replica.uri}/{entry.name}" for entry in plan.entries}
        paths = {
            handle.stream.path
            for handle in handles(read_pieces(file.open, directory))
            if handle.stream and handle.stream.path
        }
        if paths != planned:
            difference = min(paths ^ planned)
            raise NotCopied(
                f"The rewritten _metadata of checkpoint {plan.checkpoint_id} is not that of its "
                f"plan: {difference} differs."
            )

    def _finish(self, ledger: Ledger) -> int:
        """Deletes files that the complete copy does not need; returns how many."""
        plan = ledger.plan
        if plan is None or not ledger.unfinished:
            return 0
        needed = {plan.metadata_name, *(entry.name for entry in plan.entries)}
        deleted = unneeded(ledger.names, needed)
        self.replica.write(plan.round, records.DELETING, json.dumps(deleted).encode())
        undeleted = []
        for name in deleted:
            try:
                self.replica.remove(name)
            except tree.TreeError as error:
                self.say(str(error))
                undeleted.append(name)
        self.replica.remove_parts({*deleted, *needed})
        self.replica.remove_empty(
            {name.rpartition("/")[0] for name in deleted}
            - {name.rpartition("/")[0] for name in needed}
        )
        self.replica.write_files(
            plan.round, [file for name, file in ledger.files.items() if name in needed]
        )
        self.replica.write(plan.round, records.FINISHED, json.dumps({"left": undeleted}).encode())
        self.replica.forget(number for number in self.replica.rounds() if number < plan.round)
        return len(deleted) - len(undeleted)

    def _is_overtaken(self, plan: Plan) -> bool:
        newest = next(self.origin.checkpoints(self.request.source), None)
        return newest is not None and newest[0] != plan.checkpoint_id

    def _result(self, state: str, ledger: Ledger, deleted: int) -> Result:
        plan = ledger.plan
        if plan is None:
            return Result(state, ledger.round, overtaken=self.overtaken)
        metadata_bytes = int(ledger.complete.get("metadata_bytes", 0))
        return Result(
            state,
            round=plan.round,
            plan=plan.name,
            checkpoint_id=plan.checkpoint_id,
            as_of=plan.metadata_modified,
            completed_at=ledger.complete.get("at"),
            location=f"{self.replica.uri}/{plan.metadata_name.removesuffix('/_metadata')}",
            files=len(plan.entries) + 1,
            bytes=sum(entry.bytes for entry in plan.entries) + metadata_bytes,
            copied_files=len(plan.files_to_copy),
            copied_bytes=sum(entry.bytes for entry in plan.files_to_copy),
            deleted_files=deleted,
            overtaken=self.overtaken,
        )


def _not_copied(failures: list[Failure]) -> NotCopied:
    text = f"{len(failures):,} files were not copied, the first: {failures[0].why}"
    return Overtaken(text) if any(failure.gone for failure in failures) else NotCopied(text)


@contextmanager
def _scratch(content: bytes) -> Iterator[MetadataFile]:
    with tempfile.NamedTemporaryFile(prefix="weir-replication-") as file:
        file.write(content)
        file.flush()
        yield MetadataFile(file.name)
