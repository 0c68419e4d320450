"""`_metadata` of real clusters: checkpoints and savepoints read as their own Flink's loader reads them."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ingest.metadata.files import find
from ingest.metadata.handles import handles
from tests.lab.cluster import start
from tests.lab.jars import flink_jars
from tests.lab.releases import RELEASES

pytestmark = pytest.mark.integration

SOURCE = Path(__file__).parent / "java" / "ListHandles.java"


@pytest.mark.parametrize("version", ["1.12.5", "1.20.5", "2.3.0"])
def test_every_stream_is_the_one_that_flinks_loader_sees(version: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with start(version, "healthy", slot=6, folder=tmp_path / "flink") as lab:
        lab.wait_for(lambda account: account["counts"]["completed"] >= 3)
        lab.savepoint()
        # Flink deletes older checkpoints while the job runs.
        for folder in (lab.checkpoint_dir, lab.layout.savepoints):
            for path in folder.rglob("_metadata"):
                target = kept / path.relative_to(tmp_path)
                target.parent.mkdir(parents=True)
                shutil.copy(path, target)
    files, skips = find([str(kept)])
    assert len(files) >= 2 and not skips
    ours = Counter(
        (file.path, handle.operator.operator_id, -1 if handle.subtask is None else handle.subtask, stream.handle_class,
         stream.path or stream.name, stream.bytes)
        for file in files for handle in handles(file.pieces()) if (stream := handle.stream)
    )  # fmt: skip
    assert ours == listed_by_flink(version, [file.path for file in files], tmp_path / "classes")
    assert {key[3] for key in ours} >= {"ByteStreamStateHandle", "RelativeFileStateHandle"}


def listed_by_flink(version: str, files: list[str], classes: Path) -> Counter[tuple[str, str, int, str, str, int]]:
    jars = flink_jars(RELEASES[version])
    subprocess.run(["javac", "-nowarn", "-Xlint:none", "-cp", f"{jars}/*", "-d", str(classes), str(SOURCE)], check=True)
    command = ["java", "-Xmx512m", "-cp", f"{classes}:{jars}/*", "ListHandles", *files]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return Counter((line[0], line[1], int(line[2]), line[3], line[4], int(line[5])) for line in lines if len(line) == 6)
