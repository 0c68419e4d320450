"""The demo of one machine: the process that plays the shipped recordings, and the ports it is asked at."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ingest.replay.shipped import SHIPPED
from webapp.supervisor.child import Program
from webapp.supervisor.home import Home, write_privately
from webapp.supervisor.ports import free_port, listens


def ports_of(home: Home) -> list[int]:
    """One for each cluster: those it had before, where they are free. Noted in the home, from where the clusters' addresses are made."""
    noted = home.folder("demo") / "ports"
    try:
        ports = [int(word) for word in noted.read_text().split()]
    except (OSError, ValueError):
        ports = []
    if len(set(ports)) != len(SHIPPED) or any(not 0 < port < 65_536 or listens("127.0.0.1", port) for port in ports):
        found: set[int] = set()
        while len(found) < len(SHIPPED):
            found.add(free_port())
        ports = sorted(found)
    write_privately(noted, " ".join(map(str, ports)))
    return ports


def playing(home: Home, ports: list[int], project: Path, environment: Mapping[str, str]) -> Program:
    command = [sys.executable, "-m", "ingest", "replay", "--out", str(home.folder("demo")), "--ports", *map(str, ports)]
    return Program("demo", command, environment, project, ready=partial(listens, "127.0.0.1", ports[-1]), ready_within_s=60)
