"""What Spark writes can be read by its owner alone: Hadoop gives each file a mode of its own,
whatever the umask.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.installation import Installation
from tests.selections import mostly_long
from webapp.config.environment import PROJECT_DIR

WRITES = """
import os, sys
from ingest.privacy import keep_private
keep_private(os.environ)
from spark_jobs.session import open_session
session = open_session("modes")
session.range(9).selectExpr("id", "id as day").write.partitionBy("day").parquet(sys.argv[1] + "/table")
session.stop()
"""


@pytest.mark.parametrize(
    ("umask", "closed"),
    mostly_long([("", 0o077), ("027", 0o027)], ids=["usual", "group"], spread=True),
)
def test_files_and_directories_of_a_spark_run_are_closed(
    tmp_path: Path, umask: str, closed: int
) -> None:
    variables = Installation(tmp_path).variables | {"SPARK_MASTER": "local[1]"}
    variables |= {"WEIR_UMASK": umask} if umask else {}
    folder = tmp_path / "out"
    folder.mkdir(mode=0o755)
    subprocess.run(
        [sys.executable, "-c", WRITES, str(folder)], env=variables, cwd=PROJECT_DIR, check=True
    )
    found = list((folder / "table").rglob("*"))
    assert len(found) > 9
    open_ones = [path for path in (folder / "table", *found) if path.stat().st_mode & closed]
    assert open_ones == []
    if umask:
        assert (folder / "table").stat().st_mode & 0o050 == 0o050
