"""Audits as due work of the pipeline."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.storage.builders import root
from tests.webapp.storage.test_loading import ROW
from webapp.storage.auditing import work_keys
from webapp.storage.models import RootFigures, StorageAudit, StorageRoot
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db


def done(key: str) -> str:
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    return perform(key, even_if_not_due=True, echo=lambda line: None).state


def test_nothing_is_due_before_there_is_a_root():
    assert not any(key.startswith("storage/") for key in registry.intervals_s())


def test_all_roots_are_audited_together_as_often_as_the_setting_says():
    root("s3://a")
    root("s3://b")
    assert registry.intervals_s()[work_keys.AUDIT] == 6 * 3600
    assert registry.work_of(work_keys.AUDIT).task.queue == "storage"


def test_a_paused_root_is_not_audited():
    root("s3://a", enabled=False)
    assert work_keys.AUDIT not in registry.intervals_s()


def test_one_audit_looks_at_all_roots_together(tmp_path, spark):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        root(f"file:{tmp_path / name}")
    spark.found = lambda audit_id: {
        "storage_root": [
            [ROW | {"audit_id": audit_id, "root": f"file:{tmp_path}/{n}"} for n in ("a", "b")]
        ]
    }
    assert done(work_keys.AUDIT) == Performed.DONE
    of = StorageAudit.objects.get()
    assert (of.roots, RootFigures.objects.count()) == (
        [f"file:{tmp_path}/a", f"file:{tmp_path}/b"],
        2,
    )
    assert (PipelineRun.objects.get().kind, of.run) == ("storage", PipelineRun.objects.get())


def test_a_root_that_was_added_while_an_audit_ran_is_audited_next(tmp_path, spark):
    (tmp_path / "a").mkdir()
    root(f"file:{tmp_path}/a")
    StorageRoot.objects.update(created_at=timezone.now() - timedelta(hours=1))
    spark.found = lambda audit_id: {
        "storage_root": [[ROW | {"audit_id": audit_id, "root": f"file:{tmp_path}/a"}]]
    }
    done(work_keys.AUDIT)
    assert DueWork.objects.get(key=work_keys.AUDIT).next_attempt_at > timezone.now() + timedelta(
        hours=5
    )
    spark.found = lambda audit_id: (
        root("s3://added")
        and {"storage_root": [[ROW | {"audit_id": audit_id, "root": f"file:{tmp_path}/a"}]]}
    )
    done(work_keys.AUDIT)
    assert DueWork.objects.get(key=work_keys.AUDIT).next_attempt_at <= timezone.now()


def test_what_a_killed_command_left_is_nothing_to_do():
    DueWork.objects.ensure({work_keys.BY_HAND: 60}, timezone.now())
    assert perform(work_keys.BY_HAND, even_if_not_due=True).state == Performed.IDLE
