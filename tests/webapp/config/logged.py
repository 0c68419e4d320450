"""A stand-in for ``spark_jobs``: it logs one line, as a Spark job would."""

import logging
import os

from ingest import log_lines

log_lines.configure(os.environ)
logging.getLogger("spark_jobs.fold").warning("a rule failed; password=hunter2hunter2")
