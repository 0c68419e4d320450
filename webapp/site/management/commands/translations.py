from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.site.translations import catalogues
from webapp.site.translations.areas import areas
from webapp.site.translations.complaints import complaints
from webapp.site.translations.extraction import NoPlainText


class Command(BaseCommand):
    help = (
        "Collect the texts that templates and code mark for translation into the catalogue of each "
        "area (webapp/AREA/locale). Existing translations stay, and translations of other areas "
        "are reused. Then compile. Needs the development dependencies."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help=(
                "change nothing; list what is missing, obsolete, fuzzy, has lost a placeholder or "
                "a tag, or differs between areas"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._check() if options["check"] else self._update()
        except NoPlainText as wrong:
            raise CommandError(str(wrong)) from None

    def _check(self) -> None:
        problems = list(complaints(areas()))
        for line in problems:
            self.stdout.write(line)
        if problems:
            raise CommandError(f"{len(problems)} problems in the catalogues of translations.")

    def _update(self) -> None:
        texts_by_area = {area: catalogues.texts(catalogues.read(area.po)) for area in areas()}
        all_texts = {key: text for texts in texts_by_area.values() for key, text in texts.items()}
        for area, own_texts in texts_by_area.items():
            catalogue = catalogues.build(area.messages(), all_texts | own_texts)
            catalogues.write(area, catalogue)
            entries = catalogues.entries(catalogue)
            missing = sum(not catalogues.text_of(entry) for entry in entries.values())
            if entries:
                self.stdout.write(
                    f"{area.name}: {len(entries)} messages, {missing} without a translation"
                )
