"""One spelling for each place: what is folded, what is told apart, and that a column is the same as
each of its values.
"""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.uris import PLAIN, BadUri, Spellings, canonical, canonical_column, is_below

SPELLINGS = [
    ("/a/b", "file:/a/b"),
    ("file:/a/b", "file:/a/b"),
    ("file:///a/b", "file:/a/b"),
    ("file://localhost/a/b", "file:/a/b"),
    ("file:////a//b/", "file:/a/b"),
    ("//a/b", "file:/a/b"),
    ("FILE:/a/b", "file:/a/b"),
    ("/", "file:/"),
    ("/a/./b/../c", "file:/a/c"),
    ("/../a", "file:/a"),
    ("/a/b%20c", "file:/a/b c"),
    ("/a/b%2520c", "file:/a/b c"),
    ("/a/%2e%2e/b%2fc", "file:/b/c"),
    ("/a/100%", "file:/a/100%"),
    ("/a/b?c#d", "file:/a/b?c#d"),
    ("/a/...", "file:/a/..."),
    ("s3://bucket/key", "s3://bucket/key"),
    ("s3a://bucket//key/", "s3://bucket/key"),
    ("s3n://bucket/key", "s3://bucket/key"),
    ("s3p://bucket/key", "s3://bucket/key"),
    ("oss://bucket/key/", "oss://bucket/key"),
    ("cosn://bucket-1250000000//key", "cosn://bucket-1250000000/key"),
    ("S3A://Bucket/key", "s3://Bucket/key"),
    ("s3://KEY:SECRET@bucket/key", "s3://bucket/key"),
    ("s3://bucket", "s3://bucket"),
    ("s3://bucket/", "s3://bucket"),
    ("hdfs://nn/a", "hdfs://nn/a"),
    ("hdfs://NN:8020/a", "hdfs://nn/a"),
    ("hdfs://nn:/a", "hdfs://nn/a"),
    ("hdfs://nn:9000/a", "hdfs://nn:9000/a"),
    ("hdfs://flink@nn:8020/a", "hdfs://nn/a"),
    ("hdfs:///a", "hdfs:///a"),
    ("hdfs:/a", "hdfs:///a"),
    ("hdfs://nn/A", "hdfs://nn/A"),
    ("abfss://state@Account.dfs.core.windows.net/a", "abfs://state@account.dfs.core.windows.net/a"),
    ("abfs://state@a.dfs.core.windows.net:443/a", "abfs://state@a.dfs.core.windows.net/a"),
    ("wasbs://state@a1.blob.core.windows.net/a/b", "abfs://state@a1.dfs.core.windows.net/a/b"),
    ("wasb://state@A1.blob.core.windows.net", "abfs://state@a1.dfs.core.windows.net"),
    ("abfss://s@a.z01.blob.storage.azure.net/a", "abfs://s@a.z01.dfs.storage.azure.net/a"),
    ("gs://bucket/a b", "gs://bucket/a b"),
]
APART = [
    ("oss://bucket/key", "s3://bucket/key"),
    ("cosn://bucket/key", "s3://bucket/key"),
    ("abfs://state@a.dfs.core.windows.net/a", "abfs://state@b.dfs.core.windows.net/a"),
    ("abfs://state@a.dfs.core.windows.net/a", "wasb://other@a.blob.core.windows.net/a"),
    ("abfs://state@a.dfs.core.windows.net/a", "wasb://state@a.blob.core.chinacloudapi.cn/a"),
    ("abfs://state@a.dfs.core.windows.net/a", "wasbs://state@a.blob.blob.core.windows.net/a"),
    ("wasb://state@gateway:10000/a", "wasb://state@gateway:10001/a"),
]
"""Two stores, containers, accounts, clouds or emulators."""


@pytest.mark.parametrize(("written", "expected"), SPELLINGS)
def test_spellings_of_one_place_become_one(written: str, expected: str) -> None:
    assert canonical(written) == expected
    assert canonical_column(pa.array([written])).to_pylist() == [expected]


@pytest.mark.parametrize(("one", "other"), APART)
def test_spellings_of_two_places_stay_two(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)
    assert len(set(canonical_column(pa.array([one, other])).to_pylist())) == 2


@pytest.mark.parametrize(
    "written",
    [
        "",
        "a/b",
        "chk-1",
        "s3:key",
        "file://host/a",
        "C:\\a",
        "/a\x00b",
        "/a%00b",
        "/a%" + "25" * 9 + "20",
    ],
)
def test_what_names_no_place_is_refused_and_null_in_a_column(written: str) -> None:
    with pytest.raises(BadUri):
        canonical(written)
    assert canonical_column(pa.array([written, "/a", None])).to_pylist() == [None, "file:/a", None]


def test_a_refusal_says_which_text_and_no_secret() -> None:
    with pytest.raises(BadUri, match="names a host") as refusal:
        canonical("file://me:hush@host/a")
    assert "hush" not in str(refusal.value)


def test_a_name_service_a_second_authority_and_a_mount_mean_one_storage() -> None:
    spellings = Spellings(
        (
            ("hdfs://nameservice1", "hdfs://nn1"),
            ("hdfs://nn2:8020/", "hdfs://nn1"),
            ("/mnt/flink", "hdfs://nn1/flink"),
        )
    )
    written = [
        "hdfs://nameservice1/flink/x",
        "hdfs://nn2/flink/x",
        "/mnt/flink/x",
        "file:///mnt//flink/./x",
        "hdfs://nn1:8020/flink/x",
    ]
    assert {canonical(uri, spellings) for uri in written} == {"hdfs://nn1/flink/x"}
    assert set(canonical_column(pa.array(written), spellings).to_pylist()) == {"hdfs://nn1/flink/x"}


def test_an_alias_takes_whole_components_only() -> None:
    spellings = Spellings((("/mnt/a", "/data"), ("/mnt/a/deep", "/else")))
    assert canonical("/mnt/ab/x", spellings) == "file:/mnt/ab/x"
    assert canonical("/mnt/a", spellings) == "file:/data"
    assert canonical("/mnt/a/deep/x", spellings) == "file:/else/x"


@pytest.mark.parametrize(
    "aliases",
    [(("/a", "/b"), ("/b", "/a")), (("/a", "/a/b"),), (("/a", "/b/d"), ("/b", "/a/d"))],
    ids=["two", "into itself", "growing"],
)
def test_aliases_that_go_round_are_refused(aliases: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(BadUri, match="circle"):
        Spellings(aliases)


def test_aliases_that_lead_on_are_followed() -> None:
    spellings = Spellings((("/a", "/b"), ("/b", "s3a://bucket")))
    assert canonical("/a/x", spellings) == "s3://bucket/x"


def test_below_means_whole_components() -> None:
    assert is_below("file:/a/b", "file:/a")
    assert is_below("file:/a", "file:/a")
    assert is_below("file:/a", "file:/")
    assert not is_below("file:/ab", "file:/a")
    assert not is_below("file:/a", "file:/a/b")


def test_chunks_stay_chunks() -> None:
    column = pa.chunked_array([["/a"], ["s3a://b/c", None]])
    assert canonical_column(column).to_pylist() == ["file:/a", "s3://b/c", None]


_PARTS = st.sampled_from(
    [
        "a",
        "b",
        "..",
        ".",
        "",
        "%2e",
        "%2F",
        "%25",
        "%",
        "%C3%A4",
        "%ff",
        "ä",
        "a b",
        ".x",
        "a?b",
        "\n",
        "#",
    ]
)
_STARTS = st.sampled_from(
    [
        "",
        "/",
        "file:",
        "file:/",
        "file://",
        "file:///",
        "s3a://Bu",
        "s3:",
        "hdfs://NN:8020",
        "hdfs:",
        "hdfs://u@n:1",
        "abfss://c@A",
        "wasbs://C@a.blob.core.windows.net",
        "abfs://c@a.z1.blob.core.windows.net:443",
        "abfs://c@a.blob.",
        "s3p://bu",
        "cosn://B",
    ]
)
_URIS = st.builds(
    lambda start, parts: start + "/".join(parts), _STARTS, st.lists(_PARTS, max_size=6)
) | st.text(max_size=20)
_ALIASES = st.sampled_from(
    [
        PLAIN,
        Spellings(
            (
                ("/a", "s3://bu"),
                ("hdfs://nn/a", "/a/b"),
                ("/b", "/a"),
                ("hdfs:///", "hdfs://nn"),
                ("s3://Bu/b", "/c"),
            )
        ),
    ]
)


@given(_URIS, _ALIASES)
def test_the_canonical_spelling_of_a_canonical_one_is_itself(
    uri: str, spellings: Spellings
) -> None:
    try:
        once = canonical(uri, spellings)
    except BadUri:
        return
    assert canonical(once, spellings) == once


@given(st.lists(_URIS | st.none(), max_size=8), _ALIASES)
def test_a_column_is_what_each_of_its_values_is(
    uris: list[str | None], spellings: Spellings
) -> None:
    def alone(uri: str | None) -> str | None:
        try:
            return None if uri is None else canonical(uri, spellings)
        except BadUri:
            return None

    uris = [uri if uri is None else uri.encode("utf-8", "replace").decode() for uri in uris]
    assert canonical_column(pa.array(uris, pa.string()), spellings).to_pylist() == [
        alone(uri) for uri in uris
    ]


@given(st.lists(_PARTS, max_size=5))
def test_clients_of_one_object_store_agree(parts: list[str]) -> None:
    key = "/".join(parts)
    assert (
        len({canonical(f"{scheme}://bucket/{key}") for scheme in ("s3", "s3a", "s3n", "S3")}) == 1
    )
