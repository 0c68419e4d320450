"""The rules and the readers on executors that do not have Weir installed: its code goes with the session.

Executors of ``local[*]`` are this process's children and find it by themselves. A Connect server or a cluster need not
have it, or may have another version of it.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGES = (Path(__file__).parent, Path(__file__).parent.parent / "ingest")


def ship_code(session: SparkSession) -> None:
    """Give the Python workers of this session the packages, unless they run on this machine out of this process."""
    if not os.environ.get("SPARK_REMOTE") and (os.environ.get("SPARK_MASTER") or "local").startswith("local"):
        return
    folder = Path(tempfile.mkdtemp(prefix="weir-code-"))
    # A classic driver hands the file itself to executors, whenever they start: it must stay as long as the process.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.addArtifacts(str(archive(folder)), pyfile=True)


def archive(folder: Path) -> Path:
    """The packages as a zip, named by what is in it: a session takes one name once."""
    files = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    target = folder / f"weir-{digest}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in files:
            packed.write(path, path.relative_to(PACKAGES[0].parent))
    return target
