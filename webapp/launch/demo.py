"""The ports of the process that replays the shipped recordings."""

from ingest.replay.shipped import SHIPPED
from webapp.launch.home import Home, free_port, listens, write_privately


def ports_of(home: Home) -> list[int]:
    """A port for each cluster, if possible the same as before. :mod:`webapp.fleet.demo` reads them
    from the home, for the addresses of the clusters.
    """
    file = home.folder("demo") / "ports"
    try:
        ports = [int(word) for word in file.read_text().split()]
    except (OSError, ValueError):
        ports = []
    if len(set(ports)) != len(SHIPPED) or any(
        not 0 < port < 65_536 or listens("127.0.0.1", port) for port in ports
    ):
        numbers: set[int] = set()
        while len(numbers) < len(SHIPPED):
            numbers.add(free_port())
        ports = sorted(numbers)
    write_privately(file, " ".join(map(str, ports)))
    return ports
