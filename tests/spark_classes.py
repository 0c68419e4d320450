"""Spark's classes as its JVMs share them: parsed and verified once, not again by each of the many
JVMs of a test run.

A JVM that ends with ``ArchiveClassesAtExit`` leaves an archive that others with the same class path
map into memory (JDK 17, JEP 350). That halves the CPU time from the start of a Spark to its first
answers.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

PROJECT = Path(__file__).parent.parent
FOLDER = PROJECT / ".pytest_cache"
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""An archive that is not there yet, or is of another class path, is no news."""

WRITTEN_WITHIN_S = 300
"""Some seconds on an idle machine; here, tests have the cores."""


def archive() -> Path:
    """Where it lies: another one for each Spark and each Java."""
    java = Path(shutil.which("java") or "java").resolve()
    of = (
        f"{pyspark.__file__} {pyspark.__version__} {java} "
        f"{java.stat().st_mtime if java.exists() else ''}"
    )
    return FOLDER / f"spark-{hashlib.sha256(of.encode()).hexdigest()[:12]}.jsa"


def jvm_options() -> str:
    """What makes a JVM use the archive as soon as there is one."""
    return f"-XX:SharedArchiveFile={archive()} {QUIET}"


def make_where_missing() -> None:
    """In a process of its own, beside the tests."""
    if not archive().exists():
        subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=PROJECT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def main() -> None:
    """Keep the classes of a Connect server that has carried out a cycle."""
    from ingest.lake.store import Lake
    from ingest.recordings.importer import import_recording
    from tests.spark_processes import connect_server, run_cycle

    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="spark-classes-", dir=FOLDER) as name:
        folder = Path(name)
        import_recording(
            PROJECT / "tests/fixtures/recordings/1.20.5/E", "c", Lake(str(folder / "lake"))
        )
        # Not for the JVM that only puts the server's command line together.
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={folder / 'made.jsa'} {QUIET}"
        os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"
        with connect_server(folder / "spark", stops_within_s=WRITTEN_WITHIN_S) as remote:
            run_cycle(
                folder / "lake",
                folder / "run",
                "classes",
                {"SPARK_REMOTE": remote},
                "--most-rows-without-spark",
                "0",
            ).wait(300)
        # In one step: no JVM maps half of it.
        (folder / "made.jsa").rename(archive())


if __name__ == "__main__":
    main()
