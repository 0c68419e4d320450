"""Weir's packages as a zip for Spark's workers, and its digest."""

import hashlib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (ROOT / "spark_jobs", ROOT / "ingest")

SETTING = "spark.weir.code"
"""Spark setting: the digest of the packages of the server's Python workers."""


@cache
def digest() -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in _files())).hexdigest()[:16]


def archive(folder: Path) -> Path:
    """A zip named by the digest, since a session accepts a name only once."""
    target = folder / f"weir-{digest()}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in _files():
            packed.write(path, path.relative_to(ROOT))
    return target


def _files() -> Iterator[Path]:
    return (path for package in PACKAGES for path in sorted(package.rglob("*.py")))
