"""``python -m ingest COMMAND``: reads what Flink clusters show, without the web application.

Each command is a module of ``ingest.commands``, whose docstring is its help. Exit codes: 0 done, 1
some inputs were skipped, 2 refused.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from ingest import log_lines
from ingest.errors import IngestError, Refused
from ingest.privacy import keep_private

COMMANDS = {
    "record": "ingest.commands.record",
    "replay": "ingest.commands.replay",
    "import": "ingest.commands.import_",
}


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        keep_private(os.environ)
        return _run(words)
    except IngestError as error:
        print(f"ingest: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ingest: stopped.", file=sys.stderr)
        return 130


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_overview())
        return 0 if words else 2
    name = words[0]
    if name not in COMMANDS:
        raise Refused(f"There is no command {name!r}; choose one of {', '.join(COMMANDS)}.")
    command: Any = importlib.import_module(COMMANDS[name])
    log_lines.configure(os.environ)
    parser = argparse.ArgumentParser(
        prog=f"python -m ingest {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    code: int = command.run(parser.parse_args(words[1:]))
    return code


def _overview() -> str:
    lines = ["usage: python -m ingest COMMAND [options]", "", "commands:"]
    for name, module in COMMANDS.items():
        summary = (importlib.import_module(module).__doc__ or "").splitlines()[0]
        lines.append(f"  {name:<10}{summary}")
    return "\n".join([*lines, "", "Each command has its own --help."])


if __name__ == "__main__":
    sys.exit(main())
