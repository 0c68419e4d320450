"""``python -m webapp.work.leash COMMAND…``: become COMMAND, and die when whoever started it dies."""

import os
import sys

from ingest.leash import die_with


def main() -> None:
    die_with(os.getppid())
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main()
