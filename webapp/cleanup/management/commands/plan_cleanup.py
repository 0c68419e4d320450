from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from ingest.uris import BadUri
from webapp.cleanup import orders, planning
from webapp.cleanup.entries import SCHEMA
from webapp.cleanup.errors import PlanRefused
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.outcomes import WITHHELD
from webapp.cleanup.plan_reader import reader_of
from webapp.config.preparation import PreparedCommand
from webapp.lib.command_line import command_line_name
from webapp.lib.printing import json_line, print_lines
from webapp.lib.quantities import bytes_text, count_text
from webapp.lib.storage_uris import canonical
from webapp.work.perform import Performed, perform
from webapp.work.runs import describe


class Command(PreparedCommand):
    help = (
        "Make a plan that lists what may be removed below ROOT (default: all roots of the newest "
        "audit), with the proof for each file. Nobody can change the plan. It needs a loaded audit, "
        "and moves and deletes nothing. If the plan is empty, the reason is printed. Exit code 0, "
        "1 if something failed, 2 if the input is invalid or there is no audit."
    )

    refusals = (BadUri, PlanRefused)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "roots",
            nargs="*",
            metavar="ROOT",
            help="URI as in Flink, of a root in the newest audit",
        )
        parser.add_argument(
            "--waste",
            action="store_true",
            help="include checkpoints that nobody will restore from, and files only they need",
        )
        parser.add_argument("--files", action="store_true", help="print every file of the plan")
        parser.add_argument(
            "--json",
            action="store_true",
            help="one JSON object for the plan, then one for each of its files",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        roots = [canonical(root) for root in options["roots"]]
        plan = planning.request_plan(
            roots, waste=options["waste"], user=None, name=command_line_name(), at=timezone.now()
        )
        orders.wake(plan, timezone.now())
        try:
            performed = perform(orders.key_of(plan), even_if_not_due=True, echo=self.say)
        except PlanRefused:
            raise
        except Exception as error:
            raise CommandError(describe(error)) from error
        if performed.state == Performed.HELD:
            raise CommandError("A worker makes the plan already; see the page of clean-up plans.")
        plan.refresh_from_db()
        print_lines(
            self.stdout,
            _json_lines(plan) if options["json"] else _text_lines(plan, files=options["files"]),
        )


def _text_lines(plan: CleanupPlan, *, files: bool) -> Iterator[str]:
    yield f"Plan {plan.name}"
    for root in plan.summary["roots"]:
        yield (
            f"  {root['uri']}: {count_text(root['files'])} files, {bytes_text(root['bytes'])} "
            f"({root['moves']})"
        )
    for root in plan.summary["withheld_roots"]:
        yield f"  {root['uri']}: nothing of it. " + " ".join(root["reasons"])
    for statement in plan.summary.get("statements", ()):
        yield (
            f"  files below {statement['subject']}: {statement['stated_by']} attested at "
            f"{statement['stated_at']} that its job is dead: {statement['reason']}"
        )
    for reason, count in plan.summary["withheld_files"].items():
        yield f"  {count_text(count)} files left out: {WITHHELD.get(reason, reason)}"
    if files:
        for row in reader_of(plan).rows():
            yield f"{row['bytes']:>14,}  {row['verdict']:<14}  {row['path']}"
    if not plan.files:
        yield "The plan holds nothing: there is nothing to approve."
        return
    yield (
        f"  in all {count_text(plan.files)} files, {bytes_text(plan.bytes)}; it can be applied "
        f"until {plan.expires_at:%Y-%m-%d %H:%M} UTC"
    )
    yield (
        "Nothing was touched. Approve it on its page, then: manage.py apply_cleanup "
        f"{plan.short_name} --apply"
    )


def _json_lines(plan: CleanupPlan) -> Iterator[str]:
    names = ("roots", "withheld_roots", "withheld_files", "statements")
    yield json_line(
        {
            "plan": plan.name,
            "files": plan.files,
            "bytes": plan.bytes,
            "expires_at": plan.expires_at,
            "waste": plan.waste,
            **{name: plan.summary[name] for name in names},
        }
    )
    for row in reader_of(plan).rows():
        yield json_line({name: row[name] for name in SCHEMA.names})
