"""Who holds a lease: a name that shows whether its process still lives."""

import os
import secrets
from pathlib import Path


def me() -> str:
    """A new name for a claim by this process, unique per call."""
    pid = os.getpid()
    return f"{_machine()}/{pid}/{_started(pid)}/{secrets.token_hex(8)}"


def is_dead(holder: str) -> bool:
    """True only where the holder ran in this very process space and is gone; in doubt it lives."""
    machine, _, rest = holder.partition("/")
    pid, _, rest = rest.partition("/")
    started = rest.partition("/")[0]
    if machine != _machine() or not pid.isdigit() or not started:
        return False
    return _started(int(pid)) != started


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').readlink().name}".replace("/", "_")
    except OSError:
        return f"unknown:{secrets.token_hex(8)}"


def _started(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
