from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.site.translations import catalogues
from webapp.site.translations.areas import Area, areas
from webapp.site.translations.complaints import complaints
from webapp.site.translations.extraction import NoPlainText


class Command(BaseCommand):
    help = (
        "Collect the texts that templates and code mark for translation into the catalogue of each "
        "area (webapp/AREA/locale). Existing translations stay, and translations of other areas "
        "are reused. Then compile. Needs the development dependencies."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("area", nargs="*", help="packages of webapp (default: all)")
        parser.add_argument(
            "--check",
            action="store_true",
            help=(
                "change nothing; list what is missing, obsolete, fuzzy, has lost a placeholder or "
                "a tag, or differs between areas"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        every = {area.name: area for area in areas()}
        if unknown := set(options["area"]) - set(every):
            raise CommandError(
                f"No area is called {', '.join(sorted(unknown))}. There are: {', '.join(every)}."
            )
        chosen = [every[name] for name in options["area"]] or list(every.values())
        try:
            self._check(chosen) if options["check"] else self._update(chosen, list(every.values()))
        except NoPlainText as wrong:
            raise CommandError(str(wrong)) from None

    def _check(self, chosen: list[Area]) -> None:
        problems = list(complaints(chosen))
        for line in problems:
            self.stdout.write(line)
        if problems:
            raise CommandError(f"{len(problems)} problems in the catalogues of translations.")

    def _update(self, chosen: list[Area], every: list[Area]) -> None:
        known = {area.name: catalogues.texts(catalogues.read(area.po)) for area in every}
        for area in chosen:
            of_others = {
                key: text
                for name in known
                if name != area.name
                for key, text in known[name].items()
            }
            catalogue = catalogues.made_of(area.messages(), of_others | known[area.name])
            catalogues.write(area, catalogue)
            held = catalogues.entries(catalogue)
            missing = sum(not catalogues.text_of(entry) for entry in held.values())
            if held:
                self.stdout.write(
                    f"{area.name}: {len(held)} messages, {missing} without a translation"
                )
