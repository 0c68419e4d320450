"""Answers of a NameNode's ``/jmx`` in their published form (Hadoop's ``JMXJsonServlet`` and Metrics
reference). No NameNode made them.
"""

from typing import Any


def answer(
    path: str,
    calls: dict[str, int],
    *,
    queue_ms: float = 0.4,
    state: str = "active",
    used: int = 600,
) -> dict[str, Any]:
    """Of one of the queries; ``calls`` since the NameNode was started, by kind."""
    name = path.rpartition("name=")[2]
    common = {"tag.Context": "rpc", "tag.Hostname": "nn1", "modelerType": "RpcActivityForPort8020"}
    if name == "RpcActivityForPort*":
        return {
            "beans": [
                {
                    "name": "Hadoop:service=NameNode,name=RpcActivityForPort8020",
                    **common,
                    "tag.port": "8020",
                    "ReceivedBytes": 12345,
                    "RpcQueueTimeNumOps": sum(calls.values()),
                    "RpcQueueTimeAvgTime": queue_ms,
                    "RpcProcessingTimeNumOps": sum(calls.values()),
                    "RpcProcessingTimeAvgTime": 0.25,
                    "NumOpenConnections": 7,
                    "CallQueueLength": 3,
                },
                {
                    "name": "Hadoop:service=NameNode,name=RpcActivityForPort8021",
                    **common,
                    "tag.port": "8021",
                    "RpcQueueTimeNumOps": 10,
                    "RpcQueueTimeAvgTime": 0.1,
                    "RpcProcessingTimeAvgTime": "NaN",
                    "NumOpenConnections": 2,
                    "CallQueueLength": 0,
                },
            ]
        }
    if name == "RpcDetailedActivityForPort*":
        detailed = {f"{kind[0].upper()}{kind[1:]}NumOps": count for kind, count in calls.items()}
        averages = {f"{kind[0].upper()}{kind[1:]}AvgTime": 0.3 for kind in calls}
        return {
            "beans": [
                {
                    "name": "Hadoop:service=NameNode,name=RpcDetailedActivityForPort8020",
                    **common,
                    **detailed,
                    **averages,
                },
                {
                    "name": "Hadoop:service=NameNode,name=RpcDetailedActivityForPort8021",
                    "SendHeartbeatNumOps": 10,
                    "SendHeartbeatAvgTime": 0.0,
                },
            ]
        }
    if name == "JvmMetrics":
        heap = {"MemHeapUsedM": 512.5, "MemHeapCommittedM": 900.0, "MemHeapMaxM": 1024.0}
        return {"beans": [{"name": "Hadoop:service=NameNode,name=JvmMetrics", **heap}]}
    return {
        "beans": [
            {
                "name": "Hadoop:service=NameNode,name=FSNamesystem",
                "tag.HAState": state,
                "FilesTotal": 1204,
                "BlocksTotal": 990,
                "CapacityTotal": 3000,
                "CapacityUsed": used,
                "CapacityRemaining": 2400,
                "UnderReplicatedBlocks": 4,
            },
        ]
    }
