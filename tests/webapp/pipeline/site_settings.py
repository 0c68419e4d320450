"""Settings of a whole site under test: the real ones, a fast beat, and a stand-in for Spark, which
takes no JVM to start.
"""

from webapp.config.settings import *  # noqa: F403 - the real settings, all of them

SPARK_JOB = "tests.webapp.pipeline.stand_in_spark.run_job"
CELERY_BEAT_SCHEDULE = {
    "tick": {"task": "pipeline.tick", "schedule": 0.5, "options": {"expires": 5}}
}
