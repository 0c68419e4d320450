"""Between what Flink calls a path and where Weir reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.storage.roots import Root
from ingest.uris import BadUri, Spellings


@pytest.mark.parametrize(
    ("root", "path", "read_path"),
    [
        (Root("file:/ckpt"), "file:/ckpt/a/b", "/ckpt/a/b"),
        (Root("file:/"), "file:/a", "/a"),
        (Root("file:/ckpt", "/mnt/copy"), "file:/ckpt/a", "/mnt/copy/a"),
        (Root("file:/ckpt", "s3://bucket/copy"), "file:/ckpt/a", "s3://bucket/copy/a"),
        (Root("hdfs://nn/ckpt", "/mnt/hdfs/ckpt"), "hdfs://nn/ckpt/a", "/mnt/hdfs/ckpt/a"),
        (Root("s3://bucket"), "s3://bucket/a", "s3://bucket/a"),
        (Root("s3://bucket", "/"), "s3://bucket/a", "/a"),
        (Root("file:/ckpt", "file:///mnt/copy"), "file:/ckpt/a", "/mnt/copy/a"),
    ],
)
def test_paths_are_read_elsewhere_and_come_back(root: Root, path: str, read_path: str) -> None:
    assert root.readable(path) == read_path
    assert root.canonical(read_path) == path


def test_the_root_itself_is_read_where_it_lies() -> None:
    assert Root("file:/ckpt", "/mnt").readable("file:/ckpt") == "/mnt"
    assert Root("file:/ckpt", "/mnt").canonical("/mnt") == "file:/ckpt"


def test_what_is_not_below_is_refused() -> None:
    root = Root("file:/ckpt", "/mnt/copy")
    with pytest.raises(ValueError, match="not below the root"):
        root.readable("file:/ckpt2/a")
    with pytest.raises(ValueError, match="not below '/mnt/copy'"):
        root.canonical("/mnt/copy2/a")


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("/ckpt/", Root("file:/ckpt", "/ckpt")),
        ("/ckpt", Root("file:/ckpt")),
        ("file:/ckpt", Root("file:/ckpt")),
        ("file:///my%20state", Root("file:/my state", "/my%20state")),
        ("s3a://bucket/ckpt", Root("s3://bucket/ckpt", "s3a://bucket/ckpt")),
        ("s3p://bucket/ckpt", Root("s3://bucket/ckpt")),
        ("S3N://bucket/a%20b/", Root("s3://bucket/a b", "s3://bucket/a%20b")),
        (
            "wasbs://state@a.blob.core.windows.net/ckpt",
            Root(
                "abfs://state@a.dfs.core.windows.net/ckpt",
                "abfs://state@a.blob.core.windows.net/ckpt",
            ),
        ),
        ("hdfs://nn:8020/ckpt", Root("hdfs://nn/ckpt", "hdfs://nn:8020/ckpt")),
        ("hdfs://service/ckpt", Root("hdfs://nn/ckpt", "hdfs://service/ckpt")),
    ],
)
def test_a_root_is_read_by_the_spelling_it_was_given_in(written: str, root: Root) -> None:
    assert Root.of(written, spellings=Spellings((("hdfs://service", "hdfs://nn"),))) == root


def test_where_a_root_is_read_is_named_as_a_client_knows_it() -> None:
    assert Root.of("cosn://bucket/ckpt", "s3p://copy/ckpt").reading == "s3://copy/ckpt"


def test_a_relative_root_is_refused() -> None:
    with pytest.raises(BadUri, match="not absolute"):
        Root.of("ckpt")


@given(
    st.lists(
        st.text("ab.é ", min_size=1).filter(lambda part: part not in (".", "..")), min_size=1
    ).map("/".join)
)
def test_reading_and_naming_are_each_others_inverse(name: str) -> None:
    root = Root("hdfs://nn/ckpt", "/mnt/copy")
    assert root.canonical(root.readable(f"{root.uri}/{name}")) == f"{root.uri}/{name}"
