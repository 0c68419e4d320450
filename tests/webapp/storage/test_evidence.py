"""What the collector is told of where ``_metadata`` can be read."""

import pytest
from django.utils import timezone

from ingest.sources import MetadataRoot
from tests.webapp import builders
from tests.webapp.storage.builders import root
from webapp.storage.audit_findings import evidence_source

pytestmark = pytest.mark.django_db


def test_registered_roots_say_where_their_files_are_read():
    root("s3://bucket/ckpt")
    root("hdfs://ns/ckpt", read_at="/mnt/ckpt")
    assert evidence_source().roots == (
        MetadataRoot("hdfs://ns/ckpt", "/mnt/ckpt"),
        MetadataRoot("s3://bucket/ckpt"),
    )


def test_a_root_says_for_which_clusters_it_is_read():
    root("s3://bucket/ckpt").clusters.set(
        [builders.cluster(name, at=timezone.now()) for name in ("prod-eu", "dr")]
    )
    assert evidence_source().roots == (
        MetadataRoot("s3://bucket/ckpt", clusters=("dr", "prod-eu")),
    )


def test_none_a_cycle_turns_reading_off(weir):
    assert evidence_source().enabled
    weir(metadata_per_cycle=0)
    assert not evidence_source().enabled
