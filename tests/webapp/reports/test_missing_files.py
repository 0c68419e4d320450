"""The report of a job whose restore lacked a file tells its triage, in every form; one without such
a finding asks nothing.
"""

from datetime import timedelta

import pytest

from tests.played import of_rule
from tests.webapp.builders import cluster, finding

# fixtures
from tests.webapp.cleanup.missing_files.conftest import lost_file, played_audits  # noqa: F401
from tests.webapp.reports.stories import UID, gather, scope
from webapp.analyses.values import plain
from webapp.fleet.models import JobCurrent
from webapp.reports import document_json
from webapp.reports.gathering import missing_files
from webapp.reports.renderers import html, markdown

pytestmark = pytest.mark.django_db


@pytest.fixture
def of(lost_file) -> JobCurrent:  # noqa: F811
    lost_file("2.3.0")
    job = JobCurrent.objects.get(terminal=False)
    cluster("lab", at=job.last_seen_at)
    return job


def lately(of):
    return scope(
        of, start=of.last_seen_at - timedelta(hours=1), end=of.last_seen_at + timedelta(seconds=1)
    )


def test_the_triage_is_part_of_the_story_in_every_form(of):
    *_, newest = of_rule("2.3.0/lost-file", "restore.missing_file")
    at = of.last_seen_at
    finding(of, "restore.missing_file", at, data=newest["data"], first_seen=at, last_seen=at)
    document = gather(lately(of), uid=UID, made_at=at, made_by="olga")
    (lost, *_more) = document.stories[0].missing_files
    assert lost.path == f"file:{newest['data']['files'][0]['path']}"
    assert lost.causes[0][:2] == ("A rule that deletes by age", "likely")
    assert lost.snapshots == 2
    assert lost.operators
    for form in (html.render(document), markdown.render(document), document_json.to_json(document)):
        assert lost.path in form
        assert "A rule that deletes by age" in form
    assert (
        document_json.from_plain(plain(document)).stories[0].missing_files
        == document.stories[0].missing_files
    )


def test_a_job_whose_restores_found_their_files_costs_one_query(of, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert missing_files.rows(of, lately(of)) == ()
