"""The tools for agents over standard input and output, for one machine."""

import os
from argparse import ArgumentParser
from typing import Any

from webapp.accounts.models import User
from webapp.accounts.viewers import scope_of
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.lib import scopes
from webapp.site.agents.views import MISSING_EXTRA, answer_tool


class Command(PreparedCommand):
    help = (
        "Answer agents over standard input and output by the Model Context Protocol, read-only, "
        "within what --user sees. Exit code 2 if there is no such user, or the extra mcp is missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help="whose scope the answers have")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from webapp.site.agents.protocol import serve_stdio
        except ModuleNotFoundError:
            raise CommandRefused(MISSING_EXTRA) from None
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandRefused(f"There is no user {options['user']}.")
        # One client asks one question after the other, so nothing waits for the blocked event loop.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        with scopes.within(scope_of(user)):
            serve_stdio(answer_tool)
