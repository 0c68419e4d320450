import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import authenticate
from django.core.management.base import CommandError
from django.utils import timezone

from webapp.cleanup import orders
from webapp.cleanup.errors import PlanActionRefused
from webapp.cleanup.named_plan import add_plan, plan_named
from webapp.config.preparation import PreparedCommand

VARIABLE = "WEIR_APPROVER_PASSWORD"
NOT_ALLOWED = 3


class Command(PreparedCommand):
    help = (
        f"Approve PLAN as the person USER. The password is read from the variable {VARIABLE}, from "
        "standard input, or from a prompt; it is never an argument. Exit code 0, 2 if there is no "
        "such plan, 3 if that person may not approve it or it cannot be approved."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_plan(parser)
        parser.add_argument("--user", required=True, help="who approves it")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = plan_named(options["plan"])
        user = authenticate(username=options["user"], password=_password())
        if user is None:
            raise CommandError("User name and password do not fit.", returncode=NOT_ALLOWED)
        try:
            orders.approve(plan, user, timezone.now(), through="command line")
        except PlanActionRefused as error:
            raise CommandError(str(error), returncode=NOT_ALLOWED) from error
        self.stdout.write(
            f"{user.get_username()} approved plan {plan.name}. Next: manage.py apply_cleanup "
            f"{plan.short_name} --apply"
        )


def _password() -> str:
    if password := os.environ.get(VARIABLE, ""):
        return password
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\r\n")
