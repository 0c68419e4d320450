"""What can be played: each incident is the job's arguments and the cluster settings that bring it about."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Incident:
    """``{switch}`` in an argument is the path of the file that switches the fault on (:attr:`tests.lab.cluster.Lab.switch`)."""

    name: str
    shows: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


INCIDENTS = {
    incident.name: incident
    for incident in (
        Incident("healthy", "checkpoints complete in well under a second", {"rate": "500"}),
        Incident(
            "backpressure",
            "enrich is slower than its input: source and parse are back-pressured, checkpoints wait for their barriers",
            {"rate": "5000", "slow-us": "3000"},
        ),
        Incident(
            "switched",
            "enrich is slow while the cluster's file “fault-is-on” exists",
            {"rate": "3000", "slow-us": "3000", "slow-while": "{switch}"},
        ),
        Incident(
            "amplified",
            "enrich emits 200 records for each it reads and the sink cannot keep up: the sink is the origin, not what feeds it",
            {"rate": "200", "copies": "200", "sink-us": "100", "value-bytes": "400"},
        ),
        Incident(
            "declined",
            "the asynchronous part of every third checkpoint fails on the first enrich subtask",
            {"rate": "500", "decline-every": "3"},
        ),
        Incident(
            "expired",
            "enrich is slow in turns and the time-out shorter than the alignment: checkpoints expire, acknowledgements come late",
            {"rate": "5000", "slow-us": "5000", "slow-on-s": "20", "slow-off-s": "10"},
            {"execution.checkpointing.timeout": "3s"},
        ),
        Incident(
            "lingering",
            "enrich acknowledges a second and a half after its files are uploaded; a TaskManager killed in between leaves them",
            {"rate": "1000", "keys": "3000", "async-ms": "1500"},
            # However small, state is in files of its own. Now and then Flink fails on a restored job's acknowledgement ("Attempt
            # to reference unknown state"): such a checkpoint would be waited for ten minutes, and none would follow it.
            {"state.storage.fs.memory-threshold": "0", "execution.checkpointing.timeout": "20s"},
        ),
        Incident("crashing", "enrich throws every 20 s and the job restarts", {"rate": "500", "fail-every-s": "20"}),
    )
}
