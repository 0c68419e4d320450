from argparse import ArgumentParser
from typing import Any

from webapp.accounts.models import User
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher


class Command(PreparedCommand):
    help = (
        "Set which clusters a person sees. Without grants, show it. Exit code 0, or 2 if the "
        "change is refused."
    )

    refusals = (BadMatcher,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name")
        parser.add_argument(
            "grants",
            nargs="*",
            help=(
                "matchers on labels; cluster matches the name: "
                """'team="payments", environment="prod"'; one grant has to match"""
            ),
        )
        wide = parser.add_mutually_exclusive_group()
        wide.add_argument(
            "--everything",
            action="store_true",
            help="every cluster, and what concerns the whole fleet",
        )
        wide.add_argument("--nothing", action="store_true", help="no cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandRefused(f"There is no user {options['user']}.")
        lines = "\n".join(options["grants"])
        is_whole = options["everything"] or options["nothing"]
        if lines and is_whole:
            raise CommandRefused("Give grants, or --everything, or --nothing.")
        if is_whole or options["grants"]:
            if user.is_superuser and not options["everything"]:
                raise CommandRefused(f"{user.username} is a superuser, who sees everything.")
            matchers = grants.entered(lines)
            if options["grants"] and not matchers:
                raise CommandRefused("These grants say nothing; for no cluster, give --nothing.")
            user.sees = None if options["everything"] else matchers
            user.save(update_fields=["sees"])
        scope = "everything" if user.grants is None else "; or ".join(user.grants) or "nothing"
        self.stdout.write(f"{user.username} sees {scope}")
