"""What the collector is told of where ``_metadata`` can be read."""

import pytest
from django.conf import settings

from tests.webapp.storage.builders import root
from webapp.storage.evidence import evidence_source

pytestmark = pytest.mark.django_db


def test_registered_roots_say_where_their_files_are_read():
    root("s3://bucket/ckpt")
    root("hdfs://ns/ckpt", read_at="/mnt/ckpt")
    assert evidence_source().roots == (("hdfs://ns/ckpt", "/mnt/ckpt"), ("s3://bucket/ckpt", ""))


def test_none_a_cycle_turns_reading_off():
    assert evidence_source().enabled
    before = settings.WEIR.metadata_per_cycle
    object.__setattr__(settings.WEIR, "metadata_per_cycle", 0)
    try:
        assert not evidence_source().enabled
    finally:
        object.__setattr__(settings.WEIR, "metadata_per_cycle", before)
