"""Say of every file in checkpoint storage whether something needs it, with proof.

Reads the listings and the file of jobs that --request names, and parses the listed _metadata.
Writes a verdict on every file, the files of each checkpoint and job, missing files, and doubts.
Deletes nothing. A small audit of local files runs in this process, any other with Spark.
"""

import argparse
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ingest.errors import Refused
from ingest.lake.reader import LakeReader
from spark_jobs import audit_inputs, audit_request, audit_size, previous_run
from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.audit_locally import LocalEngine
from spark_jobs.audit_request import Audit
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.job_arguments import add_run, interrupt_attempts, lake_at
from spark_jobs.manifest import Manifest
from spark_jobs.parsed_metadata import ParsedMetadata
from spark_jobs.paths import absolute_root
from spark_jobs.progress import say, say_rows
from spark_jobs.run_files import RunFiles
from spark_jobs.storage import reading
from spark_jobs.storage.audit import Inputs, Judged, judge
from spark_jobs.storage.path_facts import LISTING
from spark_jobs.storage.previous_audit import BEFORE, merge_inventories

JOB = "audit"
_LISTED = LISTING.remove(0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument(
        "--request", required=True, metavar="FILE", help="JSON: the roots, their listings, the jobs"
    )
    parser.add_argument(
        "--previous",
        metavar="MANIFEST",
        action="append",
        default=[],
        help=(
            "manifest of the last complete audit (default: none); may be repeated for those that "
            "it did not start from"
        ),
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="parse every _metadata again, whatever the lake keeps of it",
    )


def run(args: argparse.Namespace) -> int:
    started = datetime.now(UTC)
    audits = audit_request.read(absolute_root(args.request), started)
    previous = [previous_run.read(uri) for uri in args.previous]
    for uri, manifest in zip(args.previous, previous, strict=True):
        if manifest.job != JOB:
            raise Refused(f"{uri} is the manifest of a {manifest.job} run; name that of an audit.")
    lake = lake_at(args)
    run_dir = RunFiles(absolute_root(args.run_dir))
    interrupt_attempts(args.interrupt)
    with ExitStack() as damage_checks:
        for manifest in previous:
            damage_checks.enter_context(previous_run.lost_if_damaged(manifest))
        is_small = audit_size.fits_one_process(audits, previous, lake, run_dir.uri)
        with (
            nullcontext(LocalEngine()) if is_small else _with_spark(args.attempt, run_dir) as engine
        ):
            AuditRun(engine, lake, run_dir, audits, previous, fresh=args.fresh).run()
    say(f"wrote {run_dir.write_manifest(JOB, args.attempt, started, {}, {})}")
    return 0


def _with_spark(attempt: str, run_dir: RunFiles) -> AbstractContextManager[Any]:
    from spark_jobs.audit_on_spark import spark_engine

    return spark_engine(f"weir {JOB} {attempt}", attempt, run_dir.uri)


@dataclass
class AuditRun:
    """``engine``: ``LocalEngine`` or ``SparkEngine``."""

    engine: Any
    lake: LakeReader
    run_dir: RunFiles
    audits: Sequence[Audit]
    previous: Sequence[Manifest]
    fresh: bool = False
    _clock: float = field(default_factory=time.monotonic, init=False)

    def run(self) -> None:
        engine = self.engine
        listings = [
            engine.read(
                audit_inputs.listing_files(root.listing), _LISTED, root.uri, audit_id=audit.audit_id
            )
            for audit in self.audits
            for root in audit.roots
        ]
        listing = engine.concat(listings, LISTING)
        self._say("listing", engine.count(listing))
        metadata_files = reading.wanted(engine.metadata_of(listing))
        parsed = ParsedMetadata(engine, self.lake, fresh=self.fresh).read(metadata_files)
        self._say("_metadata", metadata_files.num_rows)
        previous = self._read_previous()
        inputs = Inputs(
            roots=audit_inputs.root_rows(self.audits),
            jobs=audit_inputs.jobs(self.audits),
            doubts=audit_inputs.unlisted_doubts(self.audits),
            listing=listing,
            parsed=parsed,
            known_files=previous["known"],
            earlier=previous["earlier"],
            spellings_of=audit_inputs.spellings_of(self.audits),
            statements=audit_inputs.statement_rows(self.audits),
            state=audit_inputs.state_rows(self.previous, self.audits),
        )
        self._write(judge(inputs, engine))

    def _read_previous(self) -> dict[str, Any]:
        state_names = {"known": audit_inputs.FILE_STATES, "earlier": audit_inputs.REFERENCE_STATES}
        states = {
            part: self.engine.read(audit_inputs.state_files(self.previous, names), BEFORE[part])
            for part, names in state_names.items()
        }
        spellings = list(audit_inputs.spellings_of(self.audits).values())
        if not self.previous or (len(self.previous) == 1 and not spellings):
            return states
        merged: dict[str, Any] = self.engine.run(
            partial(merge_inventories, spellings_of=spellings), states, BEFORE, ("path",)
        )
        return merged

    def _write(self, judged: Judged) -> None:
        engine, run_dir = self.engine, self.run_dir
        for name, rows in judged.tables.items():
            self._say(name, run_dir.write_table_rows(name, rows))
        self._say(
            "storage_file",
            engine.write_ordered(
                run_dir, "storage_file", judged.not_live, arrow_schema(STORAGE_FILE)
            ),
        )
        for name, rows in (("storage_live", judged.live), ("storage_reference", judged.references)):
            self._say(name, engine.write_table(run_dir, name, rows))
        # These tables are also state of the next audit.
        for name in ("storage_file", "storage_live", "storage_reference"):
            run_dir.state[name] = run_dir.outputs[name].files
        for name, parts in (("storage_absent", judged.absent), ("storage_pending", judged.pending)):
            engine.write_state(run_dir, name, parts)
        for name, rows in judged.state.items():
            run_dir.take_state(name, run_dir.write_rows(f"state/{name}", rows))

    def _say(self, name: str, rows: int) -> None:
        say_rows(name, rows, self._clock)
