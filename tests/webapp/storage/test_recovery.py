"""Which jobs are told to have a newest checkpoint that is not whole."""

from datetime import timedelta

import pytest

from tests.webapp.builders import T0, job
from tests.webapp.storage.builders import (
    JOB,
    audit,
    checkpoint_storage,
    job_storage,
    root_figures,
    unprotected_fleet,
)
from webapp.storage import recovery

pytestmark = pytest.mark.django_db


def lacking(number=7, of=None, newest=None, **fields):
    of = of or audit()
    root_figures(of)
    job_storage(of, newest_checkpoint_id=newest or number)
    return checkpoint_storage(
        of,
        number,
        cluster="prod-eu",
        missing_files=2,
        missing_bytes=100,
        resolvable=False,
        **fields,
    )


def test_the_newest_checkpoint_of_a_running_job_is_told_with_what_it_lacks():
    row = lacking()
    [point] = recovery.recovery_points()
    assert (point["cluster"], point["job_id"], point["checkpoint_id"]) == ("prod-eu", JOB, 7)
    assert (point["missing_files"], point["missing_bytes"], point["path"]) == (
        2,
        100,
        row.metadata_path,
    )
    assert point["audited_at_ms"] == round(T0.timestamp() * 1000)


def test_an_older_checkpoint_is_not_what_a_failure_would_meet():
    lacking(7, newest=9)
    assert recovery.recovery_points() == []


def test_a_savepoint_is_no_recovery_point():
    lacking(is_savepoint=True)
    assert recovery.recovery_points() == []


def test_a_job_that_has_ended_needs_none():
    lacking()
    job(at=T0, job_id=JOB, state="CANCELED", terminal=True)
    assert recovery.recovery_points() == []


def test_a_newer_audit_replaces_what_an_older_one_said():
    lacking()
    root_figures(audit("later", as_of=T0 + timedelta(days=1)))
    assert recovery.recovery_points() == []


def test_a_fleet_without_protection_is_found_by_one_query(django_assert_num_queries):
    unprotected_fleet([f"{number:032x}" for number in range(200)])
    with django_assert_num_queries(1):
        assert len(recovery.recovery_points()) == 200
