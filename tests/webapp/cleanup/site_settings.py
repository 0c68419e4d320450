"""Settings of a site whose audits need no JVM."""

from webapp.config.settings import *  # noqa: F403 - the real settings, all of them

SPARK_JOB = "tests.webapp.cleanup.stand_in_audit.run_job"
