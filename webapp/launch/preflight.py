"""Checks this machine before anything is started; each fault is one sentence.

    python3 webapp/launch/preflight.py [python] [venv] [java] [home] [bind] [disk]

It runs before the environment exists, on any Python 3: no dependency, no f-string, no annotation
newer than Python 3.0. Exit code 1 if there is a fault, 2 if there is no such check.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
FREE_BYTES_NEEDED = {"install": 4 * 10**9, "run": 10**9}
JAVA_ANSWER_WITHIN_S = 20
LISTENING = "0A"


def python_fault() -> str:
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return ""
    return (
        "Weir needs Python %d.%d or newer, and %s is %d.%d: install a newer one, or name it with "
        "`make PYTHON=/path/to/python3`."
    ) % (OLDEST_PYTHON + (sys.executable,) + sys.version_info[:2])


def venv_fault() -> str:
    try:
        for module in ("ensurepip", "venv"):  # Debian packages them separately
            __import__(module)
    except ImportError:
        return (
            "This Python cannot make environments: install its venv module (on Debian and "
            "Ubuntu: apt-get install python3-venv)."
        )
    return ""


def java_command() -> str:
    home = os.environ.get("JAVA_HOME", "")
    return os.path.join(home, "bin", "java") if home else "java"


def java_major(version_text: str) -> int:
    """17 of `openjdk version "17.0.15" …`, 8 of `java version "1.8.0_412"`, 0 if unknown."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', version_text)
    if not match:
        return 0
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def java_fault() -> str:
    if os.environ.get("SPARK_REMOTE"):
        return ""
    command = java_command()
    if not shutil.which(command):
        return needs_java("found none (%s)" % command)
    try:
        run = subprocess.Popen(
            [command, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        text = run.communicate(timeout=JAVA_ANSWER_WITHIN_S)[0].decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError) as error:
        return needs_java("`%s -version` failed (%s)" % (command, error))
    major = java_major(text)
    if major < OLDEST_JAVA:
        return needs_java("%s is %s" % (command, major or "of an unknown version"))
    return ""


def needs_java(fault: str) -> str:
    return "Weir needs Java %d or newer for Spark, and %s: install one, or set JAVA_HOME." % (
        OLDEST_JAVA,
        fault,
    )


def home_folder() -> str:
    return os.path.abspath(
        os.path.expanduser(os.environ.get("WEIR_HOME") or os.path.join(PROJECT, "var"))
    )


def home_fault() -> str:
    home = home_folder()
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        tempfile.TemporaryFile(dir=home).close()
    except OSError as error:
        return "WEIR_HOME %s cannot be written (%s): name a folder that you may write." % (
            home,
            error.strerror,
        )
    return running_instance_fault(home)


def running_instance_fault(home: str) -> str:
    """A running instance holds a lock on this file, and writes its identity into it."""
    import fcntl

    try:
        lock = open(os.path.join(home, "instance.lock"))
    except OSError:
        return ""
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            who = lock.read().strip() or "another process"
            return (
                "Weir already runs in WEIR_HOME %s (%s): stop it first, or set another WEIR_HOME "
                "and WEIR_BIND."
            ) % (home, who)
    return ""


def bind_fault() -> str:
    bind = os.environ.get("WEIR_BIND") or "127.0.0.1:8000"
    host, colon, port = bind.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        return "WEIR_BIND is %r, which is not HOST:PORT such as 127.0.0.1:8000." % bind
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(
            host or "0.0.0.0", int(port), type=socket.SOCK_STREAM
        )[0]
        probe = socket.socket(family, kind, protocol)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        probe.close()
    except OSError as error:
        advice = "%s, or choose another address with WEIR_BIND=HOST:PORT" % (
            listener_advice(int(port)) or "stop what listens there"
        )
        return "Weir cannot listen on %s (%s): %s." % (bind, error.strerror or error, advice)
    return ""


def listener_advice(port: int) -> str:
    """Which process listens there and how to end it; "" if this user may not know it, or if the
    system is not Linux.
    """
    sockets = ["socket:[%s]" % inode for inode in listening_sockets(port)]
    for pid in os.listdir("/proc") if sockets else []:
        try:
            open_files = [
                os.readlink("/proc/%s/fd/%s" % (pid, name))
                for name in os.listdir("/proc/%s/fd" % pid)
            ]
            if set(open_files) & set(sockets):
                return "process %s (%s) listens there: end it with `kill %s`" % (
                    pid,
                    program_of(pid),
                    pid,
                )
        except OSError:
            continue
    return ""


def listening_sockets(port: int) -> list:
    inodes = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        inodes += [
            row[9]
            for row in rows
            if row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port
        ]
    return inodes


def program_of(pid: str) -> str:
    """The command line up to the first option except -m, since secrets may follow."""
    with open("/proc/%s/cmdline" % pid, "rb") as file:
        words = file.read().decode("utf-8", "replace").split("\0")
    options = [number for number, word in enumerate(words) if word.startswith("-") and word != "-m"]
    return "".join(
        letter if letter.isprintable() else "?"
        for letter in " ".join(words[: options[0] if options else None]).strip()[:100]
    )


def disk_fault(folder: str, needed_bytes: int) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    if free >= needed_bytes:
        return ""
    return "Only %.1f GB are free at %s, and %.0f GB are needed: make room first." % (
        free / 1e9,
        folder,
        needed_bytes / 1e9,
    )


CHECKS = {
    "python": python_fault,
    "venv": venv_fault,
    "java": java_fault,
    "home": home_fault,
    "bind": bind_fault,
    "install-disk": lambda: disk_fault(PROJECT, FREE_BYTES_NEEDED["install"]),
    "disk": lambda: disk_fault(home_folder(), FREE_BYTES_NEEDED["run"]),
}


def main(names: list) -> int:
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        sys.stderr.write(
            "No such check: %s. There are: %s.\n" % (", ".join(unknown), ", ".join(sorted(CHECKS)))
        )
        return 2
    faults = [fault for fault in [CHECKS[name]() for name in names or sorted(CHECKS)] if fault]
    for fault in faults:
        sys.stderr.write("weir: %s\n" % fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
