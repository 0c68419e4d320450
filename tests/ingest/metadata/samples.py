"""One small file for each version and dialect that no recording has, with every handle that it can
hold.
"""

from struct import pack

from tests.ingest.metadata import writing as w

CHANGES = "file:/ckpt/dstl/changes"
STATES = [("split", 0, [0, 9]), ("union", 1, [0]), ("broadcast", 2, [3])]
META = w.byte_stream("chk-7/meta", b"meta")
SHARED = {
    f"{number:06d}.sst": w.file(10 + number, f"file:/ckpt/job/shared/{number:036d}")
    for number in range(3)
}
PRIVATE = {
    "CURRENT": w.byte_stream("chk-7/current", b"MANIFEST"),
    "MANIFEST-000004": w.file(5, "file:/ckpt/job/chk-7/m"),
}
MANAGED = w.partitionable(STATES, w.file(30, "file:/ckpt/job/chk-7/op"))
RAW = w.partitionable([], w.byte_stream("raw", b"12"))
OLD_INCREMENTAL = w.incremental(META, SHARED, PRIVATE, new=False)
INCREMENTAL = w.incremental(META, SHARED, PRIVATE, new=True)
MASTERS = [w.master_state("hook", 3, b"content"), w.master_state("other", 1, b"")]
ID_1_15 = w.utf("delta-id")

CHANGELOG_1_14 = w.changelog(
    [OLD_INCREMENTAL],
    [
        w.inline_changes([(3, b"abc"), (-1, b"")], b""),
        w.file_changes([(100, w.file(500, CHANGES)), (7, w.file(9, CHANGES))], 44, b""),
    ],
    b"",
)
CHANGELOG_1_15 = w.changelog(
    [INCREMENTAL],
    [
        w.inline_changes([(3, b"abc"), (-1, b"")], ID_1_15),
        w.file_changes(
            [(100, w.file(500, CHANGES)), (7, w.file(9, CHANGES))], 44, pack(">q", 40) + ID_1_15
        ),
    ],
    pack(">q", 6) + w.utf("log-id"),
    uploaded=50,
)
CHANGELOG_1_16 = w.changelog(
    [w.key_groups(12, 0, [5, 6], w.relative("base", 70), "base-id")],
    [
        w.file_changes(
            [(100, w.file(500, CHANGES))],
            44,
            pack(">q", 40) + ID_1_15 + w.utf("filesystem"),
            tag=13,
        )
    ],
    pack(">qq", 6, 7) + w.utf("log-id"),
    tag=14,
    uploaded=50,
)


def _channels(**how: int | None) -> list[bytes]:
    stream = w.relative("channels", 900)
    return [w.channel(0, number, [4, 40], 60, stream, **how) for number in range(2)]


V2 = w.metadata(
    2,
    [
        w.operator(
            2, [w.subtask(2, 0, managed=MANAGED, raw=RAW, keyed=OLD_INCREMENTAL), w.subtask(2, 1)]
        ),
        w.operator(
            2,
            [
                w.subtask(
                    2,
                    0,
                    keyed=w.key_groups(3, 0, [1, 2], w.file(20, "s3://bucket/kg")),
                    raw_keyed=w.key_groups(3, 2, [], w.byte_stream("empty", b"")),
                )
            ],
        ),
    ],
    masters=MASTERS,
)
V3_1_11 = w.metadata(
    3,
    [
        w.operator(
            3,
            [
                w.subtask(
                    3,
                    1,
                    keyed=OLD_INCREMENTAL,
                    inputs=_channels(subtask=None),
                    outputs=_channels(subtask=None),
                )
            ],
        ),
        w.operator(3, [], coordinator=w.byte_stream("coordinator", b"1234")),
    ],
)
V3_1_12 = w.metadata(
    3,
    [
        w.operator(
            3,
            [
                w.subtask(
                    3,
                    1,
                    keyed=OLD_INCREMENTAL,
                    inputs=_channels(subtask=1),
                    outputs=_channels(subtask=1),
                )
            ],
        ),
        w.operator(3, [w.subtask(3, 0, keyed=w.key_groups(7, 0, [1], w.relative("savepoint", 8)))]),
    ],
)
V3_1_14 = w.metadata(
    3,
    [
        w.operator(3, [w.subtask(3, 0, keyed=CHANGELOG_1_14), w.finished_subtask(1)]),
        w.operator(3, None),
        w.operator(3, [w.subtask(3, 0, managed=MANAGED)]),
    ],
)
V3_1_15 = w.metadata(
    3,
    [
        w.operator(
            3,
            [
                w.subtask(3, 0, keyed=CHANGELOG_1_15, inputs=_channels(subtask=0)),
                w.finished_subtask(1),
            ],
        ),
        w.operator(3, None),
    ],
)
V4 = w.metadata(
    4,
    [
        w.operator(
            4,
            [
                w.subtask(
                    4,
                    0,
                    managed=MANAGED,
                    raw=RAW,
                    keyed=CHANGELOG_1_16,
                    raw_keyed=w.key_groups(12, 1, [3], META, "raw-id"),
                ),
                w.subtask(
                    4,
                    1,
                    managed=w.segment_partitionable(
                        STATES,
                        "s3://b/taskowned",
                        "s3://b/shared",
                        w.segment(4, 6, 0, "s3://b/f", "logical"),
                        empty=False,
                    ),
                    keyed=w.incremental(
                        w.segment(0, 4, 1, "s3://b/g", "m"),
                        {"a.sst": w.EMPTY_SEGMENT} | SHARED,
                        {},
                        new=True,
                        uploaded=-1,
                    ),
                ),
            ],
        ),
        w.operator(
            4,
            [
                w.subtask(
                    4,
                    0,
                    managed=w.segment_partitionable(
                        [], "s3://b/t", "s3://b/s", w.EMPTY_SEGMENT, empty=True
                    ),
                )
            ],
        ),
        w.operator(
            4,
            [
                w.subtask(
                    4,
                    0,
                    keyed=w.key_groups(
                        12, 0, [1], w.key_groups(3, 0, [9], w.file(33, "s3://b/nested")), "id"
                    ),
                )
            ],
        ),
    ],
    masters=MASTERS,
)
V5 = w.metadata(
    5,
    [
        w.operator(
            5,
            [w.subtask(5, 0, keyed=INCREMENTAL, inputs=_channels(subtask=0))],
            name="Käse \U0001f9c0\0",
            uid="uid-1",
        ),
        w.operator(5, [], name="", uid=""),
    ],
)


def _typed(version: int, origin: int | None) -> bytes:
    merged = [w.merged_channel(3, 0, 60, w.file(900, "s3://b/c"), b"opaque")]
    outputs = [
        w.merged_channel(4, 0, 61, w.file(900, "s3://b/c"), b""),
        *_channels(subtask=0, type_=2),
    ]
    state = w.subtask(
        version,
        0,
        keyed=INCREMENTAL,
        inputs=merged + _channels(subtask=0, type_=1),
        outputs=outputs,
        origin=origin,
    )
    return w.metadata(
        version, [w.operator(version, [state, w.subtask(version, 1)], name="op", uid="")]
    )


V6 = _typed(6, None)
V7 = _typed(7, 5)

ALL = {
    "2": V2,
    "3 (1.11)": V3_1_11,
    "3 (1.12)": V3_1_12,
    "3 (1.14)": V3_1_14,
    "3 (1.15)": V3_1_15,
    "4": V4,
    "5": V5,
    "6": V6,
    "7": V7,
}
