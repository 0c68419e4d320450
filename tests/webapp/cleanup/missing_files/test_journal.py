"""A file that Weir's own clean-up took, by a plan that was approved, applied and undone on a real
disk.
"""

from pathlib import Path

from django.core.management import call_command
from django.utils import timezone

from tests.webapp.builders import person
from tests.webapp.cleanup.conftest import audited, orphan, world  # noqa: F401 - fixtures
from webapp.cleanup import orders
from webapp.cleanup.missing_files.missing_file import triage
from webapp.cleanup.models import CleanupPlan


def applied():
    call_command("plan_cleanup")
    plan = CleanupPlan.objects.get()
    user = person("ada")
    user.is_superuser = True
    user.save()
    orders.approve(plan, user, timezone.now())
    call_command("apply_cleanup", plan.short_name, "--apply")
    return plan


def test_the_plan_that_moved_it_is_named_with_where_it_lies_now(audited, orphan):  # noqa: F811
    plan = applied()
    found = triage(str(orphan))
    assert (found.causes[0].key, found.causes[0].verdict, found.present) == (
        "clean_up",
        "certain",
        False,
    )
    [deed] = found.deeds
    assert (deed.plan, deed.verb, deed.outcome) == (plan.pk, "apply", "quarantined")
    assert deed.quarantine.endswith(orphan.name)
    assert plan.short_name in found.causes[0].because


def test_what_was_put_back_is_there_again_and_the_plan_took_nothing(audited, orphan):  # noqa: F811
    plan = applied()
    call_command("apply_cleanup", plan.short_name, "--undo")
    found = triage(str(orphan))
    assert [deed.verb for deed in found.deeds] == ["apply", "undo"]
    assert found.present
    assert found.summary.tone == "ok"
    assert "clean_up" not in {one.key for one in found.causes}


def test_a_plan_whose_files_cannot_be_read_is_named(audited, orphan):  # noqa: F811
    plan = applied()
    for file in Path(plan.folder).rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    found = triage(str(orphan))
    assert "clean_up" not in {one.key for one in found.causes}
    assert any(plan.short_name in line for line in found.unknown)


def test_a_plan_that_was_only_made_took_nothing(audited, orphan):  # noqa: F811
    call_command("plan_cleanup")
    assert triage(str(orphan)).deeds == ()
