"""Settings of a site whose audits need no JVM."""

import sys

from webapp.config.settings import *  # noqa: F403 - the real settings, all of them

SPARK_COMMAND = [sys.executable, "-m", "tests.webapp.storage.cleanup.stand_in_audit"]
