"""Bring the list of sentences up to date that code without Django stores, so that they can be translated."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.wording import generated


class Command(BaseCommand):
    help = "Write webapp/wording/sentences.py: the sentences of ingest and spark_jobs that pages show, for manage.py translations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail where the file is not what the code says")

    def handle(self, *args: Any, **options: Any) -> None:
        path, text = generated.PATH, generated.text()
        if not options["check"]:
            path.write_text(text)
        elif path.read_text() != text:
            raise CommandError(f"{path.name} is not what the code says. Run manage.py stored_sentences.")
