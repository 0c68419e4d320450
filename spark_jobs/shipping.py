import atexit
import os
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from ingest.errors import Refused
from spark_jobs.own_code import SETTING, archive, digest


def ship_code(session: SparkSession) -> None:
    """Sends nothing if workers are local, or the server says that they have the code."""
    remote = os.environ.get("SPARK_REMOTE")
    if not remote and (os.environ.get("SPARK_MASTER") or "local").startswith("local"):
        return
    if remote and (worker_digest := session.conf.get(SETTING, "")):
        if worker_digest != digest():
            # Workers would still use modules that they have imported.
            raise Refused("The Spark server runs another version of Weir; start it again.")
        return
    folder = Path(tempfile.mkdtemp(prefix="weir-code-"))
    # A classic driver sends the file to each executor that starts later, so it has to exist until
    # the process ends.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.addArtifacts(str(archive(folder)), pyfile=True)
