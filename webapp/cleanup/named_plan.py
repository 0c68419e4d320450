"""The argument of commands that names a plan."""

from argparse import ArgumentParser

from webapp.cleanup.models import CleanupPlan
from webapp.config.preparation import CommandRefused


def add_plan(parser: ArgumentParser) -> None:
    parser.add_argument(
        "plan", metavar="PLAN", help="name of the plan, or at least its first 8 characters"
    )


def plan_named(beginning: str) -> CleanupPlan:
    """Raises ``CommandError`` unless exactly one name begins so."""
    plans = list(CleanupPlan.objects.filter(name__startswith=beginning)[:2])
    if len(beginning) < 8 or len(plans) != 1:
        raise CommandRefused(
            f"There is no one plan that begins with {beginning!r}; give at least 8 letters.",
        )
    return plans[0]
