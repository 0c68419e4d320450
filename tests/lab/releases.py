"""The Flink releases the lab can run: which PyPI package carries their jars, and how each is configured."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Release:
    """``java`` is the class file level the job is compiled for; ``renamed`` are settings, ``moved`` packages with other names there."""

    version: str
    package: str
    sha256: str
    java: int
    conf_file: str = "flink-conf.yaml"
    download_options: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    spread_out: tuple[str, str] = ("cluster.evenly-spread-out-slots", "true")
    has_claim_modes: bool = True
    has_json_layouts: bool = False


_OLD_WHEEL = (
    "--only-binary=:all:",
    "--python-version",
    "37",
    "--implementation",
    "cp",
    "--abi",
    "cp37m",
    "--platform",
    "manylinux1_x86_64",
)

RELEASES = {
    release.version: release
    for release in (
        Release(
            "1.12.5",
            "apache-flink",
            "8afdb9c00b6b47ff821c8d587a539cf56a3cee61c6b5ca431284db0a63148690",
            java=8,
            download_options=_OLD_WHEEL,
            moved={"java.time.Duration.ofSeconds": "org.apache.flink.api.common.time.Time.seconds"},
            has_claim_modes=False,
        ),
        Release("1.20.5", "apache-flink-libraries", "e6aee62ea1a1fe7b32e28894ad079f3f1a50a372a4caac3df52405267f4228c8", java=11),
        Release(
            "2.3.0",
            "apache-flink-libraries",
            "38ece876553286b3a285cf344c2d2038f8a7ca10da5df54d5107250386d64151",
            java=17,
            conf_file="config.yaml",
            renamed={
                "state.backend": "state.backend.type",
                "state.backend.incremental": "execution.checkpointing.incremental",
                "state.checkpoints.dir": "execution.checkpointing.dir",
                "state.savepoints.dir": "execution.checkpointing.savepoint-dir",
                "state.checkpoints.num-retained": "execution.checkpointing.num-retained",
                "restart-strategy": "restart-strategy.type",
                "state.storage.fs.memory-threshold": "execution.checkpointing.data-inline-threshold",
                "execution.checkpointing.unaligned": "execution.checkpointing.unaligned.enabled",
            },
            moved={"functions.sink.TwoPhaseCommit": "functions.sink.legacy.TwoPhaseCommit"},
            spread_out=("taskmanager.load-balance.mode", "SLOTS"),
            has_json_layouts=True,
        ),
    )
}

DEFAULT_VERSION = "1.20.5"
