"""The Flink releases the lab can run: which PyPI package carries their jars, and how each is
configured.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Release:
    """``java`` is the class file level the job is compiled for; ``renamed`` are settings, ``moved``
    packages with other names there.

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

_MOVED_BEFORE_1_19 = {
    "java.time.Duration.ofSeconds": "org.apache.flink.api.common.time.Time.seconds"
}
_NAMES_OF_2 = {
    "state.backend": "state.backend.type",
    "state.backend.incremental": "execution.checkpointing.incremental",
    "state.checkpoints.dir": "execution.checkpointing.dir",
    "state.savepoints.dir": "execution.checkpointing.savepoint-dir",
    "state.checkpoints.num-retained": "execution.checkpointing.num-retained",
    "restart-strategy": "restart-strategy.type",
    "state.storage.fs.memory-threshold": "execution.checkpointing.data-inline-threshold",
    "execution.checkpointing.unaligned": "execution.checkpointing.unaligned.enabled",
}
_MOVED_IN_2 = {"functions.sink.TwoPhaseCommit": "functions.sink.legacy.TwoPhaseCommit"}
_SPREAD_OUT_IN_2 = ("taskmanager.load-balance.mode", "SLOTS")


def _of_2(version: str, sha256: str) -> Release:
    return Release(
        version,
        "apache-flink-libraries",
        sha256,
        java=17,
        conf_file="config.yaml",
        renamed=_NAMES_OF_2,
        moved=_MOVED_IN_2,
        spread_out=_SPREAD_OUT_IN_2,
        has_json_layouts=True,
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
        Release(
            "1.17.2",
            "apache-flink-libraries",
            "1d7f7de6d3288610d0fecb7b45235343e31d644d0eacbe5e560560ed9124dcdb",
            java=11,
            moved=_MOVED_BEFORE_1_19,
            claim_field="restoreMode",
        ),
        Release(
            "1.18.1",
            "apache-flink-libraries",
            "369ce11ab33e5e15cdd349db2f5412dcc2fad163b6a87aa93b927a3631bcca7f",
            java=11,
            moved=_MOVED_BEFORE_1_19,
            claim_field="restoreMode",
        ),
        Release(
            "1.19.3",
            "apache-flink-libraries",
            "4a58e3a1fb7d83340bc96b6c080624c6d792d69fae5d294b96224775204a9c60",
            java=11,
            conf_file="config.yaml",
            claim_field="restoreMode",
        ),
        Release(
            "1.20.5",
            "apache-flink-libraries",
            "e6aee62ea1a1fe7b32e28894ad079f3f1a50a372a4caac3df52405267f4228c8",
            java=11,
        ),
        _of_2("2.0.1", "23e20e76083b4501a530b3678bdfaee9f2615ae4e4f7aedfe79bb5e36ffd990b"),
        _of_2("2.1.1", "0a8e42be82a4c601d9eccbb8b10d6253fefbb07fb22cd89af36f00512c685b01"),
        _of_2("2.2.0", "cbf246ea88f95066edeb720ab425f64e2149bd530d777db0f0dbf90bef2d7fdf"),
        _of_2("2.3.0", "38ece876553286b3a285cf344c2d2038f8a7ca10da5df54d5107250386d64151"),
    )
}

DEFAULT_VERSION = "1.20.5"
