"""Settings of a site whose audits need no JVM."""

from webapp.config.settings import *

SPARK_JOB = "tests.webapp.cleanup.stand_in_audit.run_job"
