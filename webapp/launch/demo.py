"""The ports of the process that plays the shipped recordings."""

from ingest.replay.shipped import SHIPPED
from webapp.launch.home import Home, free_port, listens, write_privately


def ports_of(home: Home) -> list[int]:
    """A port for each cluster, the previous one if free. Recorded in the home, for the clusters'
    addresses.
    """
    noted = home.folder("demo") / "ports"
    try:
        ports = [int(word) for word in noted.read_text().split()]
    except (OSError, ValueError):
        ports = []
    if len(set(ports)) != len(SHIPPED) or any(
        not 0 < port < 65_536 or listens("127.0.0.1", port) for port in ports
    ):
        numbers: set[int] = set()
        while len(numbers) < len(SHIPPED):
            numbers.add(free_port())
        ports = sorted(numbers)
    write_privately(noted, " ".join(map(str, ports)))
    return ports
