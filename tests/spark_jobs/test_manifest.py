"""The manifest: written whole, read back equal, refused where it is not one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs import manifest as manifests
from spark_jobs.manifest import BadManifest, Manifest, Output

AT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def manifest() -> Manifest:
    tables = {"job_current": Output(2, ("tables/job_current/a.parquet",)), "size_trend": Output(0)}
    return Manifest(
        "cycle",
        "a-1",
        {"jobs": 0},
        {"jobs": 3},
        tables,
        {"executions": ("state/executions/a.parquet",)},
        AT,
        AT,
    )


def test_it_reads_back_what_was_written(tmp_path: Path) -> None:
    uri = manifests.write(manifest(), str(tmp_path))
    again = manifests.read(uri)
    assert again == manifest()
    assert again.run_dir == str(tmp_path)


def test_nothing_but_the_manifest_is_left_behind(tmp_path: Path) -> None:
    manifests.write(manifest(), str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "{}", '{"format": 2}', '{"format": 1, "job": "cycle"}', "null"]
)
def test_a_torn_or_foreign_manifest_is_refused(tmp_path: Path, body: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(body)
    with pytest.raises(BadManifest, match=r"is not one of format 1"):
        manifests.read(str(path))


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadManifest, match="no manifest at"):
        manifests.read(str(tmp_path / "manifest.json"))
