#!/usr/bin/env python
"""Weir's management commands: ``manage.py help`` lists them, ``manage.py COMMAND --help`` explains
one.
"""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import DatabaseError, OperationalError


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except DatabaseError as error:
        from webapp.config.damaged_database import is_damaged, repair_advice  # after the settings

        if is_damaged(error):
            print(repair_advice(error), file=sys.stderr)
            return 1
        if not isinstance(error, OperationalError):
            raise
        hint = "Is its disk full, is it away, or has `manage.py migrate` not run yet?"
        print(f"The database cannot be used ({str(error).strip()}). {hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
