"""``make lab``: a real Flink on loopback that plays an incident, watched live by the Weir of
WEIR_HOME until Ctrl-C.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading

from tests.lab.cluster import Lab, LabFailed, start
from tests.lab.incidents import INCIDENTS
from tests.lab.releases import DEFAULT_VERSION, RELEASES
from webapp.config.environment import PROJECT_DIR


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: _interrupt())
    try:
        print(
            f"Starting Flink {options.version}; the first time its jars are fetched (about 220 MB) "
            "…",
            flush=True,
        )
        with start(options.version, options.incident, options.slot) as lab:
            _tell(lab, options.slot)
            lab.play_out()
            stop.wait()
    except KeyboardInterrupt:
        print("Flink is stopped.", flush=True)
        return 0
    except LabFailed as fault:
        print(f"lab: {fault}", file=sys.stderr)
        return 1
    return 0


def _interrupt() -> None:
    """Only the first one: what follows is the stop itself."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _tell(lab: Lab, slot: int) -> None:
    name = f"lab-{lab.release.version}-{slot}"
    print(
        f"Flink {lab.release.version} plays “{lab.incident.name}”: {lab.incident.shows}.",
        flush=True,
    )
    registered = register(lab, name)
    bind = os.environ.get("WEIR_BIND", "127.0.0.1:8000")
    print(f"\n  Flink's own page   {lab.url}/", flush=True)
    print(f"  logs               {lab.log_glob}", flush=True)
    if registered:
        print(
            f"  in Weir            http://{bind}/jobs/{name}/{lab.job_id}/   (cluster {name}; "
            "`make run` must be running)",
            flush=True,
        )
    print("\n  Ctrl-C stops Flink; the cluster then shows as unreachable.", flush=True)


def register(lab: Lab, name: str) -> bool:
    """Make it known to the Weir of WEIR_HOME; one that is known already has the same address and
    logs.
    """
    command = [
        sys.executable,
        "manage.py",
        "add_cluster",
        name,
        lab.url,
        "--logs",
        lab.log_glob,
        "--replace",
    ]
    run = subprocess.run(command, cwd=PROJECT_DIR, capture_output=True, text=True, check=False)
    print((run.stdout + run.stderr).strip(), flush=True)
    return run.returncode == 0


def _parser() -> argparse.ArgumentParser:
    told = "\n".join(f"  {incident.name:<14} {incident.shows}" for incident in INCIDENTS.values())
    parser = argparse.ArgumentParser(
        prog="make lab",
        description=__doc__,
        epilog=f"incidents:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        choices=sorted(RELEASES),
        default=DEFAULT_VERSION,
        help="Flink release (default: %(default)s)",
    )
    parser.add_argument(
        "--incident",
        choices=sorted(INCIDENTS),
        default="declined",
        help="what it plays (default: %(default)s)",
    )
    parser.add_argument(
        "--slot",
        type=int,
        choices=range(5),
        default=0,
        help="lets several labs stand side by side (default: 0)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
