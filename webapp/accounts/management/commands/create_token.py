from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from webapp.accounts.models import ApiToken, User
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher


class Command(PreparedCommand):
    help = "Issue an API token and print it once. Exit code 0, or 2 if there is no such person."

    refusals = (BadMatcher,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name of its owner")
        parser.add_argument(
            "--name", default="command line", help="what it is for (default: command line)"
        )
        parser.add_argument(
            "--scope",
            choices=ApiToken.Scope.values,
            default=ApiToken.Scope.READ,
            help="default: read",
        )
        sees_help = (
            """narrow it to these clusters of its user: 'team="payments"'; may be repeated"""
        )
        parser.add_argument("--sees", action="append", metavar="GRANT", help=sees_help)
        parser.add_argument(
            "--days", type=int, default=90, help="days until it expires, 0 for never (default: 90)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandRefused(f"There is no active user {options['user']}.")
        if options["days"] < 0:
            raise CommandRefused("--days must not be negative.")
        expires_at = timezone.now() + timedelta(days=options["days"]) if options["days"] else None
        sees = grants.entered("\n".join(options["sees"])) if options["sees"] else None
        _token, text = ApiToken.objects.issue(
            user, options["name"], options["scope"], expires_at, sees
        )
        self.stdout.write(text)
