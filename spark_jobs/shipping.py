"""Sends Weir's code with the session to executors that lack this version."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from ingest.errors import Refused
from spark_jobs.own_code import ON_WORKERS, archive, digest


def ship_code(session: SparkSession) -> None:
    """Not to local workers of this process, nor if the server says that its workers have it."""
    remote = os.environ.get("SPARK_REMOTE")
    if not remote and (os.environ.get("SPARK_MASTER") or "local").startswith("local"):
        return
    if remote and (theirs := session.conf.get(ON_WORKERS, "")):
        if theirs != digest():
            # Modules that a worker has already imported would still be used.
            raise Refused("The Spark server runs another version of Weir; start it again.")
        return
    folder = Path(tempfile.mkdtemp(prefix="weir-code-"))
    # A classic driver serves the file to executors whenever they start: it must exist as long as
    # the process.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.addArtifacts(str(archive(folder)), pyfile=True)
