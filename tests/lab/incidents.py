"""What can be played: each incident is the job's arguments and the cluster settings that bring it about."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Incident:
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
        Incident("crashing", "enrich throws every 20 s and the job restarts", {"rate": "500", "fail-every-s": "20"}),
    )
}
