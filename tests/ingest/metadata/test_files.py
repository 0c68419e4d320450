"""The directory that relative paths of a ``_metadata`` refer to."""

from ingest.metadata.files import directory_of


def test_directories_are_named_as_flink_spells_them() -> None:
    assert directory_of("s3://bucket/job/chk-7/_metadata") == "s3://bucket/job/chk-7"
    assert (
        directory_of("/ckpt/chk-7/_metadata")
        == directory_of("file:/ckpt/chk-7/_metadata")
        == "file:/ckpt/chk-7"
    )
