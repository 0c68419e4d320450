"""Finds leading JobManagers in Flink's high availability in ZooKeeper.

``<root>/<cluster-id>/leader/rest_server/connection_info`` since Flink 1.15
(``…/leader/rest_server_lock`` before) has the REST address, written by
``java.io.ObjectOutputStream``: ``writeUTF(address)``, then the id of the session
(``ZooKeeperUtils.writeLeaderInformationToZooKeeper``). Without a leader, it is empty or missing.
"""

import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from ingest.discovery.sources import RefusedTarget
from ingest.discovery.target_groups import Target
from ingest.errors import Skipped
from ingest.messages import message
from ingest.network.clusters import RefusedAddress, check_host

CONNECT_WITHIN_S = 3.0
ANSWER_WITHIN_S = 3.0
DEPTH = 3
"""A cluster id may be a path, such as ``team/orders``."""
MAX_NODES = 5_000
MAX_ADDRESS = 1_000
ID = "__meta_zookeeper_cluster_id"

_LEADERS = ("leader/rest_server/connection_info", "leader/rest_server_lock")
_STREAM_HEADER = b"\xac\xed\x00\x05"
_SHORT_BLOCK, _LONG_BLOCK = 0x77, 0x7A


def leaders(hosts: tuple[str, ...], root: str) -> tuple[list[Target], list[RefusedTarget]]:
    for host in hosts:
        try:
            check_host(*_host_and_port(host))
        except RefusedAddress as error:
            raise Skipped(f"{error.strerror}") from error
    client = KazooClient(
        ",".join(hosts),
        timeout=CONNECT_WITHIN_S,
        read_only=True,
        connection_retry={"max_tries": 2, "delay": 0.2},
    )
    try:
        client.start(timeout=CONNECT_WITHIN_S)
        return _read(client, "/" + root.strip("/"))
    except NoNodeError as error:
        raise Skipped(
            message(
                "there is no {root:name} in it; give Flink's high-availability.zookeeper.path.root",
                root=root,
            )
        ) from error
    except (KazooException, KazooTimeoutError, OSError) as error:
        raise Skipped(
            message("it did not answer in time ({name:name})", name=type(error).__name__)
        ) from error
    finally:
        client.stop()
        client.close()


def _read(client: KazooClient, root: str) -> tuple[list[Target], list[RefusedTarget]]:
    targets, without_leader = [], []
    for path in _clusters(client, root):
        cluster_id = path[len(root) :].strip("/")
        try:
            address = next(
                filter(None, (_leader(client, f"{path}/{name}") for name in _LEADERS)), ""
            )
            if address:
                targets.append(_target(address, cluster_id))
                continue
            why: str = message("it has no leader now; it stays unchanged")
        except ValueError as error:
            why = str(error)
        without_leader.append(RefusedTarget(path, why, cluster_id.replace("/", "-")))
    return targets, without_leader


def _clusters(client: KazooClient, root: str) -> Iterator[str]:
    level, nodes = [root], 0
    for _depth in range(DEPTH):
        next_level: list[str] = []
        for path in level:
            children = sorted(_wait_for(client.get_children_async(path)))
            nodes += len(children)
            if nodes > MAX_NODES:
                raise Skipped(
                    message(
                        "more than {max_nodes:count} nodes are below {root:name}",
                        max_nodes=MAX_NODES,
                        root=root,
                    )
                )
            if "leader" in children and path != root:
                yield path
            else:
                next_level += [f"{path.rstrip('/')}/{child}" for child in children]
        level = next_level


def _leader(client: KazooClient, path: str) -> str:
    try:
        content = _wait_for(client.get_async(path))[0]
    except NoNodeError:
        return ""
    return parse_address(content) if content else ""


def _wait_for(pending: Any) -> Any:
    return pending.get(timeout=ANSWER_WITHIN_S)


def parse_address(content: bytes) -> str:
    """After the header come the mark of a block and its length (1 or 4 bytes). Raises
    ``ValueError``.
    """
    try:
        if content[:4] != _STREAM_HEADER or content[4] not in (_SHORT_BLOCK, _LONG_BLOCK):
            raise ValueError
        start = 6 if content[4] == _SHORT_BLOCK else 9
        (length,) = struct.unpack_from(">H", content, start)
        text = content[start + 2 : start + 2 + length]
        if len(text) != length or length > MAX_ADDRESS:
            raise ValueError
        return text.decode("ascii")
    except (ValueError, IndexError, struct.error):
        raise ValueError("what it holds was not written by Flink's leader election") from None


def _target(url: str, cluster_id: str) -> Target:
    parts = urlsplit(url)
    labels = {
        ID: cluster_id,
        "cluster": cluster_id.replace("/", "-"),
        "__scheme__": parts.scheme,
        "__metrics_path__": parts.path,
    }
    return Target(parts.netloc, labels)


def _host_and_port(host: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{host}")
    return parts.hostname or "", parts.port
