"""Settings of a site with a fast beat, whose audits need no JVM."""

from tests.webapp.pipeline.site_settings import *  # noqa: F403 - all of them

SPARK_JOB = "tests.webapp.cleanup.stand_in_audit.run_job"
