import json
import time
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.cleanup import orders
from webapp.cleanup.choices import PlanState
from webapp.cleanup.dry_run import dry_run
from webapp.cleanup.errors import CleanupError, PlanActionRefused
from webapp.cleanup.models import AT_WORK, CleanupPlan
from webapp.cleanup.named_plan import add_plan, plan_named
from webapp.cleanup.outcomes import SENTENCES, FileOutcome
from webapp.cleanup.plan_reader import reader_of
from webapp.config.preparation import PreparedCommand
from webapp.lib.command_line import command_line_name
from webapp.lib.quantities import bytes_text, count_text
from webapp.work.perform import Performed, perform
from webapp.work.runs import describe

NOT_ALLOWED = 3
LOOK_AGAIN_S = 1


class Command(PreparedCommand):
    help = (
        "Print what applying PLAN would do. With --apply, move its files to quarantine. With "
        "--undo, put them back. With --purge, delete files whose grace period is over. A new audit "
        "runs first; files that changed are skipped and listed. You may stop the command at any "
        "time; it continues where it stopped. A plan that is already applied is reported again, "
        "with exit code 0. Exit code 0, 1 if something failed or a doubt stopped it, 2 if the "
        "input is invalid, 3 if the plan is not approved, has expired, or is past this step."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_plan(parser)
        verb = parser.add_mutually_exclusive_group()
        verb.add_argument("--dry-run", action="store_true", help="change nothing (the default)")
        verb.add_argument("--apply", action="store_true", help="move its files to quarantine")
        verb.add_argument("--undo", action="store_true", help="put back what is in quarantine")
        verb.add_argument(
            "--purge",
            action="store_true",
            help="delete what is in quarantine; only after the grace period",
        )
        parser.add_argument(
            "--wait",
            type=float,
            default=60,
            metavar="S",
            help="seconds to wait for a worker that applies it (default: 60)",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON object at the end instead of progress"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        plan = plan_named(options["plan"])
        verb = next((name for name in orders.STATE_OF if options[name]), "")
        try:
            if verb:
                self._order(plan, verb)
                self._carry_out(plan, verb, options["wait"])
            else:
                self._dry_run(plan)
        except PlanActionRefused as error:
            raise CommandError(str(error), returncode=NOT_ALLOWED) from error
        except CleanupError as error:
            raise CommandError(str(error)) from error

    def _dry_run(self, plan: CleanupPlan) -> None:
        counts = dry_run(reader_of(plan))
        if self.quiet:
            self.stdout.write(
                json.dumps(
                    {
                        "plan": plan.name,
                        "state": plan.state,
                        "approved_by": plan.approved_name or None,
                        **counts,
                    }
                )
            )
            return
        self.stdout.write(
            f"Plan {plan.name}: {plan.get_state_display()}. This is a dry run: nothing is touched."
        )
        self.stdout.write(
            f"  {count_text(counts['unchanged'])} files, "
            f"{bytes_text(counts['unchanged_bytes'])}, are as planned."
        )
        for outcome in (
            FileOutcome.CHANGED,
            FileOutcome.GONE,
            FileOutcome.LINKED,
            FileOutcome.FAILED,
        ):
            if counts[outcome]:
                self.stdout.write(f"  {count_text(counts[outcome])} files: {SENTENCES[outcome]}")
        if plan.approved_at is None:
            self.stdout.write("It is not approved.")
        elif plan.is_expired(timezone.now()):
            self.stdout.write("It has expired.")
        else:
            self.stdout.write(
                f"{plan.approved_name} approved it. With --apply a fresh audit decides which of "
                "them go."
            )

    def _order(self, plan: CleanupPlan, verb: str) -> None:
        if plan.state != orders.STATE_OF[verb] and not self._is_done(plan, verb):
            try:
                orders.order(plan, verb, command_line_name(), timezone.now())
            except PlanActionRefused:
                # A worker may have finished the plan since it was read.
                plan.refresh_from_db()
                if not self._is_done(plan, verb):
                    raise

    def _is_done(self, plan: CleanupPlan, verb: str) -> bool:
        if plan.state not in orders.REACHED[verb]:
            return False
        self.say(
            f"Plan {plan.short_name} is {plan.get_state_display()} already: there is nothing left "
            "to do."
        )
        return True

    def _carry_out(self, plan: CleanupPlan, verb: str, wait_s: float) -> None:
        deadline = time.monotonic() + wait_s
        while plan.state in AT_WORK:
            try:
                performed = perform(orders.key_of(plan), even_if_not_due=True, echo=self.say)
            except CleanupError:
                raise
            except Exception as error:
                raise CommandError(f"{describe(error)} Repeat the command to continue.") from error
            if performed.state == Performed.HELD:
                if time.monotonic() > deadline:
                    raise CommandError(
                        "A worker carries it out; its progress is on the page of the plan."
                    )
                time.sleep(LOOK_AGAIN_S)
            plan.refresh_from_db()
        self._report(plan, verb)
        if plan.state not in orders.REACHED[verb]:
            raise CommandError(
                plan.trouble or f"Plan {plan.short_name} is {plan.get_state_display()}."
            )

    def _report(self, plan: CleanupPlan, verb: str) -> None:
        counts: Counter[str] = Counter(
            {name: count for name, count in plan.counts(verb).items() if isinstance(count, int)}
        )
        if self.quiet:
            self.stdout.write(
                json.dumps(
                    {
                        "plan": plan.name,
                        "state": plan.state,
                        verb: counts,
                        "trouble": plan.trouble or None,
                    }
                )
            )
            return
        for outcome in FileOutcome:
            if counts[outcome]:
                size = bytes_text(counts[f"{outcome}_bytes"])
                self.stdout.write(
                    f"  {count_text(counts[outcome])} files, {size}. {SENTENCES[outcome]}"
                )
        self.stdout.write(f"Plan {plan.short_name}: {plan.get_state_display()}.")
        if plan.state == PlanState.QUARANTINED and plan.purge_at:
            self.stdout.write(
                f"It can be undone until {plan.purge_at:%Y-%m-%d %H:%M} UTC, when the quarantine "
                "is purged."
            )
