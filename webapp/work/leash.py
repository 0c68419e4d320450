"""``python -m webapp.work.leash COMMAND…``: become COMMAND, and die when the parent process dies."""

import os
import sys

from ingest.parent_death import die_with_parent


def main() -> None:
    die_with_parent(os.getppid())
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main()
