"""``python -m ingest listing``."""

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from ingest.__main__ import main
from tests.storage_trees import FIXTURES, lay_out

H = "file:/opt/l/lab/run/1.20.5-H"


def test_a_summary_of_each_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("1.20.5-H", "1.20.5-K"):
        lay_out(name, tmp_path / name)
    assert main(["listing", str(tmp_path / "1.20.5-H"), str(tmp_path / "1.20.5-K"), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["files"], line["bytes"], line["unlisted"]) for line in lines] == [
        (138, 48885038, []),
        (43, 104536496, []),
    ]
    assert [line["root"] for line in lines] == [
        f"file:{tmp_path}/1.20.5-H",
        f"file:{tmp_path}/1.20.5-K",
    ]


def test_a_copied_tree_is_read_elsewhere_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out("1.20.5-H", tmp_path / "copy")
    assert main(["listing", H, "--at", str(tmp_path / "copy"), "--out", str(tmp_path / "out")]) == 0
    assert f"{H}: 138 files, 48,885,038 bytes, as of " in capsys.readouterr().out
    assert ds.dataset(tmp_path / "out", format="parquet").count_rows() == 138
    assert main(["listing", H, "--at", str(tmp_path / "copy"), "--out", str(tmp_path / "out")]) == 2
    assert "finished listing" in capsys.readouterr().err


def test_an_inventory_instead(capsys: pytest.CaptureFixture[str]) -> None:
    inventory = str(FIXTURES / "1.20.5-H" / "listing-final.tsv")
    assert (
        main(["listing", H, "--inventory", inventory, "--as-of", "2026-11-21T04:12:00Z", "--json"])
        == 0
    )
    line = json.loads(capsys.readouterr().out)
    assert (line["root"], line["files"], line["as_of"]) == (H, 138, "2026-11-21T04:12:00+00:00")
    assert main(["listing", H, "--inventory", inventory]) == 0


def test_what_cannot_be_listed_is_said_and_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["listing", str(tmp_path / "nowhere")]) == 1
    answer = capsys.readouterr()
    assert "0 files, 0 bytes, 1 not listed" in answer.out
    assert f"not listed file:{tmp_path}/nowhere: It cannot be listed" in answer.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["ckpt"], "not absolute"),
        (["/a", "/b", "--at", "/c"], "one ROOT"),
        (["/a", "--alias", "hdfs://x"], "FROM=TO"),
        (["/a", "--alias", "/b=/c", "--alias", "/c=/b"], "circle"),
        (["/a", "--threads", "0"], "at least 1"),
        (["/a", "--inventory", "/nowhere.csv"], "no inventory at"),
        (["/a", "--inventory", "/nowhere.csv", "--as-of", "now"], "no time"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["listing", *words]) == 2
    assert why in capsys.readouterr().err


def test_an_inventory_of_the_future_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    inventory = str(FIXTURES / "1.20.5-H" / "listing-final.tsv")
    assert main(["listing", H, "--inventory", inventory, "--as-of", "2126-11-21T04:12:00Z"]) == 2
    assert "cannot have begun in the future" in capsys.readouterr().err
