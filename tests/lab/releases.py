"""The Flink releases the lab can run: which PyPI package carries their jars, and how each is configured."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Release:
    """``java`` is the class file level the job is compiled for; ``renamed`` are settings, ``moved`` packages with other names there.

    ``claim_field`` is what a submission by REST calls the claim mode.
    """

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
    claim_field: str = "claimMode"
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
_MOVED_BEFORE_1_19 = {"java.time.Duration.ofSeconds": "org.apache.flink.api.common.time.Time.seconds"}

RELEASES = {
    release.version: release
    for release in (
        Release(
            "1.12.5",
            "apache-flink",
            "8afdb9c00b6b47ff821c8d587a539cf56a3cee61c6b5ca431284db0a63148690",
            java=8,
            download_options=_OLD_WHEEL,
            moved=_MOVED_BEFORE_1_19,
            has_claim_modes=False,
        ),
        Release(
            "1.13.6",
            "apache-flink-libraries",
            "2834e022cd64864d570021562aaf84412c69ca34f6731c17453e04bba3db3efc",
            java=8,
            moved=_MOVED_BEFORE_1_19,
            has_claim_modes=False,
        ),
        Release(
            "1.14.6",
            "apache-flink-libraries",
            "0b3afc482440c831c40f796db4cd71f177d9e7c2b67e6c932b8a33f01cc51ae9",
            java=8,
            moved=_MOVED_BEFORE_1_19,
            has_claim_modes=False,
        ),
        Release(
            "1.15.4",
            "apache-flink-libraries",
            "f4f622f55198073ee1be7db14ae2efe89af1a6fc9e4da8bc6e4759d7fa84f58a",
            java=8,
            moved=_MOVED_BEFORE_1_19,
            claim_field="restoreMode",
        ),
        Release(
            "1.16.3",
            "apache-flink-libraries",
            "d15df4185e9c507836b031879b64e18f68955dd7e90cd7d39b450513ed64ebbe",
            java=8,
            moved=_MOVED_BEFORE_1_19,
            claim_field="restoreMode",
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
