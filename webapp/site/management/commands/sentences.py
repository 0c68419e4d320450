"""List every sentence that Weir can show."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from webapp.lib.printing import print_lines
from webapp.lib.sentences import Sentence, matching, sentences


class Command(BaseCommand):
    help = (
        "List every sentence of pages, findings, runbooks, commands and API messages, with its file "
        "and line. … stands for a value."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--no-terms",
            action="store_true",
            help="only sentences with words that are not terms of Flink or of operations",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        matching_sentences = matching(sentences(), no_terms_only=options["no_terms"])
        print_lines(
            self.stdout,
            (
                f"{sentence.path}:{sentence.line}: {_marked(sentence)}{sentence.text}"
                for sentence in matching_sentences
            ),
        )


def _marked(sentence: Sentence) -> str:
    """Its words that are no terms, before the sentence."""
    return f"[{', '.join(sentence.no_terms)}] " if sentence.no_terms else ""
