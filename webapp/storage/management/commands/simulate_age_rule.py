"""Say what deleting by age would have done."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from ingest.uris import BadUri
from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.lib.printing import print_lines
from webapp.lib.quantities import bytes_text, count_text
from webapp.storage.age_rules import directory_below, of_root
from webapp.storage.audited_root import root_named
from webapp.storage.auditing import age_rules
from webapp.storage.auditing.manual_work import by_hand
from webapp.storage.choices import SimulationState
from webapp.storage.models import AgeRuleResult, RootFigures


class Command(PreparedCommand):
    help = (
        "Show what 'delete everything older than N days' would have deleted below ROOT at its "
        "newest audit, how much of that is live, and which checkpoints of any job could no longer "
        "be restored. Nothing is deleted. Exit code 0, 1 if it failed, 2 if there is no audit."
    )

    refusals = (BadUri,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", metavar="ROOT", help="URI as in Flink, in any spelling")
        parser.add_argument(
            "--days",
            type=int,
            required=True,
            metavar="N",
            help="files older than this would be deleted",
        )
        parser.add_argument(
            "--below",
            default="",
            metavar="DIR",
            help="only below this directory of ROOT, such as that of one job",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object instead of text")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["days"] < 0:
            raise CommandError("--days must be 0 or more.", returncode=REFUSED)
        figures = root_named(options["root"])
        below = directory_below(options["below"], figures.root)
        outcome = of_root(self._result(figures, options["days"], below), figures.root)
        if outcome is None:
            raise CommandError(
                f"The simulation says nothing of {figures.root}; audit it again.", returncode=1
            )
        values = {
            "days": options["days"],
            "below": below,
            "as_of": figures.as_of.isoformat(),
            **outcome,
        }
        print_lines(
            self.stdout,
            [json.dumps(values, ensure_ascii=False, default=str)]
            if options["json"]
            else _words(values),
        )

    def _result(self, figures: RootFigures, days: int, below: str) -> dict[str, Any] | None:
        """What was simulated once is shown again."""
        known = AgeRuleResult.objects.filter(
            audit=figures.audit, days=days, below=below, state=SimulationState.DONE
        ).first()
        if known is not None:
            return known.result
        with by_hand(self.say) as (lease, record):
            result = age_rules.simulate(figures.audit, days, below, record)
            done = {
                "state": SimulationState.DONE,
                "result": result,
                "error": "",
                "finished_at": timezone.now(),
            }
            with lease.writing():
                AgeRuleResult.objects.update_or_create(
                    audit=figures.audit, days=days, below=below, defaults=done
                )
        return result


def _words(values: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{values['below'] or values['root']}: older than {values['days']} days at the audit of "
        f"{values['as_of']}"
    )
    yield (
        f"  would delete     {count_text(values['files']):>12} files  "
        f"{bytes_text(values['bytes']):>8}"
    )
    yield (
        f"  of them live     {count_text(values['live_files']):>12} files  "
        f"{bytes_text(values['live_bytes']):>8}"
    )
    yield (
        f"  orphans left     {count_text(values['missed_files']):>12} files  "
        f"{bytes_text(values['missed_bytes']):>8}"
    )
    yield (
        f"  {count_text(values['broken'])} checkpoints of {count_text(values['jobs'])} jobs "
        "could no longer be restored"
    )
    for row in values["checkpoints"]:
        lost = f"{count_text(row['lost_files'])} files, {bytes_text(row['lost_bytes'])}"
        yield (
            f"    {row['metadata_path']}: "
            f"{lost}{' and its _metadata' if row['lost_metadata'] else ''}"
        )
