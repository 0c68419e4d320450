"""Settings under test: the real ones, with a home of their own that nobody else uses."""

import atexit
import os
import shutil
import tempfile

if "WEIR_TEST_HOME" not in os.environ:
    os.environ["WEIR_TEST_HOME"] = tempfile.mkdtemp(prefix="weir-test-")
    atexit.register(shutil.rmtree, os.environ["WEIR_TEST_HOME"], ignore_errors=True)
    os.environ["WEIR_HOME"] = os.environ["WEIR_TEST_HOME"]

# Tests ask faster than anybody would.
os.environ["WEIR_REQUESTS_PER_MIN"] = "0"

from webapp.config.settings import *  # noqa: F403 - the real settings, all of them

# A database in its server of which theirs becomes a copy, before it is migrated.
if "WEIR_TEST_TEMPLATE" in os.environ:
    # of the real settings
    DATABASES["default"]["TEST"] = {"TEMPLATE": os.environ["WEIR_TEST_TEMPLATE"]}  # noqa: F405

# Hashing passwords slowly is for attackers, not for tests.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Files are looked up as they are asked for, instead of all of them with every test's client: a
# quarter of the time of tests of pages.
WHITENOISE_AUTOREFRESH = True

# Tests look for what is seen of a page, whatever the lines of its template.
MIDDLEWARE = ["tests.webapp.white_space.SeenWhiteSpace", *MIDDLEWARE]  # noqa: F405
