"""The argument of commands that names a plan."""

from argparse import ArgumentParser

from webapp.cleanup.models import CleanupPlan
from webapp.config.preparation import CommandRefused


def add_plan(parser: ArgumentParser) -> None:
    parser.add_argument(
        "plan", metavar="PLAN", help="name of the plan, or at least its first 8 characters"
    )


def plan_named(beginning: str) -> CleanupPlan:
    """Raises ``CommandRefused`` unless ``beginning`` has 8 letters of a name, and one name does."""
    is_name = len(beginning) >= 8 and {*beginning} <= {*"0123456789abcdef"}
    plans = list(CleanupPlan.objects.filter(name__startswith=beginning)[:2]) if is_name else []
    if len(plans) != 1:
        raise CommandRefused(
            f"There is no one plan that begins with {beginning!r}; give at least 8 letters."
        )
    return plans[0]
