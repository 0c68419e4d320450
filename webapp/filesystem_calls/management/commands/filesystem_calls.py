"""Print what the checkpoints of a job ask of the NameNode of its storage."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.filesystem_calls.api import fleet_views
from webapp.filesystem_calls.api.views import as_document
from webapp.filesystem_calls.fleet_calls import MOST_MORE, fleet_calls
from webapp.filesystem_calls.fleet_words import (
    audit_hint,
    audit_sentence,
    balance_sentence,
    burst_sentence,
    namenode_hint,
    namenode_sentence,
)
from webapp.filesystem_calls.job_calls import JobCalls
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.filesystem_calls.what_ifs import WhatIfs
from webapp.filesystem_calls.words import bytes_sentence, floor_sentence, knee_sentence, observed_sentence, rows, sentence, what_if_rows
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines


class Command(PreparedCommand):
    help = (
        "Print the calls of one checkpoint of a job to the NameNode of its storage by kind, or of all jobs by second: a table, or with "
        "--json one object. "
        "Exit code 0, or 2 where the job or its files are unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?", help="without one: calls of all jobs")
        parser.add_argument("job", metavar="JOB", nargs="?", help="its id, or its name where one job has it")
        parser.add_argument("--more", type=int, choices=range(MOST_MORE + 1), default=0, help="of all jobs: file systems to suppose")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["cluster"] is None:
            self._fleet(options["more"], options["json"])
            return
        if options["job"] is None:
            raise CommandError("Name a job too, or neither a cluster nor a job.", returncode=REFUSED)
        found = look_up_calls(job_named(options["cluster"], options["job"]), timezone.now())
        if found.calls is None:
            raise CommandError(found.why, returncode=REFUSED)
        if options["json"]:
            print_document(self.stdout, as_document(found))
        else:
            print_lines(self.stdout, _table(found.calls, found.what_ifs))
            print_lines(self.stdout, [bytes_sentence(found.calls, found.replicated)])
            if found.observed:
                print_lines(self.stdout, [f"Audit log: {observed_sentence(found.observed)}"])

    def _fleet(self, more: int, as_json: bool) -> None:
        found = fleet_calls(timezone.now(), more)
        if as_json:
            print_document(self.stdout, fleet_views.as_document(found))
            return
        moves = (f"{one.name}  {one.per_s:,.1f} calls/s  {one.setting}" for one in found.moves)
        logs = [f"Audit log, {one.cluster}: {audit_sentence(one)}" for one in found.observed.logs]
        hints = [hint] if (hint := audit_hint(found)) else []
        expected_per_s = sum(found.before.values())
        logs += [f"NameNode, {one.cluster}: {namenode_sentence(one, expected_per_s)}" for one in found.namenodes.known]
        hints += [hint] if (hint := namenode_hint(found)) else []
        print_lines(self.stdout, [*map(burst_sentence, found.file_systems), *logs, *hints, balance_sentence(found), *moves])


def _table(found: JobCalls, others: WhatIfs | None) -> Iterator[str]:
    yield sentence(found)
    for label, count, meaning in rows(found):
        yield f"{label:<12}{count:>16}  {meaning}"
    for line in found.unknown:
        yield f"? {line}"
    if others:
        yield f"{'':<30}{'files':>12}{'calls':>16}{'':>4}{'heap':>10}"
        for row in what_if_rows(others):
            yield f"{row['label']:<30}{row['files']:>12}{row['calls']:>16}{row['rate']:>18}{row['heap']:>10}  {row['setting']}"
        yield knee_sentence(others)
        yield floor_sentence(others)
        for line in others.unknown:
            yield f"? {line}"
