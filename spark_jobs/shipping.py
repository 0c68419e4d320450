"""Weir's code for executors that do not have it, or another version: it goes with the session.
Where a server says that its workers have this very version, nothing is sent.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from ingest.errors import Refused
from spark_jobs.own_code import ON_WORKERS, archive, digest


def ship_code(session: SparkSession) -> None:
    """Give the Python workers of this session the packages, unless they have them or run on this
    machine out of this process.
    """
    remote = os.environ.get("SPARK_REMOTE")
    if not remote and (os.environ.get("SPARK_MASTER") or "local").startswith("local"):
        return
    if remote and (theirs := session.conf.get(ON_WORKERS, "")):
        if theirs != digest():
            # What a worker has imported would count, whatever is sent.
            raise Refused("The Spark server runs another version of Weir; start it again.")
        return
    folder = Path(tempfile.mkdtemp(prefix="weir-code-"))
    # A classic driver hands the file itself to executors, whenever they start: it must stay as long
    # as the process.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.addArtifacts(str(archive(folder)), pyfile=True)
