import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import PreparedCommand
from webapp.pipeline import loader, rollups
from webapp.work import keys, registry
from webapp.work.models import DueWork
from webapp.work.perform import Performed, perform
from webapp.work.runs import describe, new_attempt

LOOK_AGAIN_S = 1


class Command(PreparedCommand):
    help = (
        "Process everything that is new in the lake and load the results. Needs no running service. "
        "Exit code 0 if everything is loaded, 1 if something failed or another process did not "
        "finish it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--collect", action="store_true", help="ask all live clusters first")
        parser.add_argument(
            "--from-start",
            action="store_true",
            help="read the whole lake again, for example after it was replaced",
        )
        parser.add_argument(
            "--wait",
            type=float,
            default=600,
            metavar="S",
            help="seconds to wait for another process that does it (default: 600)",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON object at the end instead of progress"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        DueWork.objects.ensure(registry.intervals_s(), timezone.now())
        DueWork.objects.mend(timezone.now())
        began = time.monotonic()
        if options["from_start"]:
            loader.start_over(
                new_attempt("start", timezone.now()), "It was asked for: run_pipeline --from-start."
            )
        counts: dict[str, Any] = {}
        if options["collect"]:
            for key in (key for key in registry.intervals_s() if key.startswith("collect/")):
                counts[key] = self._do(key, options["wait"])
        for key in (keys.CYCLE, rollups.KEY):
            counts[key] = self._do(key, options["wait"])
        if options["json"]:
            self.stdout.write(
                json.dumps({"duration_s": round(time.monotonic() - began, 3), **counts})
            )
        else:
            self.stdout.write(f"Done in {time.monotonic() - began:.1f} s.")

    def _do(self, key: str, wait_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                performed = perform(key, even_if_not_due=True, echo=self.say)
            except Exception as error:
                raise CommandError(f"{key}: {describe(error)}") from error
            if performed.state != Performed.HELD:
                break
            if time.monotonic() > deadline:
                raise CommandError(
                    f"{key}: another process did it for {wait_s:.0f} s; see the pipeline page."
                )
            self.say(f"{key}: another process does it, waiting …")
            time.sleep(LOOK_AGAIN_S)
        if performed.record is None:
            self.say(f"{key}: nothing new.")
            return {}
        return performed.record.counts
