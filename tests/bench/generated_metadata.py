"""A large ``_metadata`` as Flink 1.20 writes it for a job with incremental state: made here, byte
for byte, from a seed.

Each subtask has SST files in ``shared/`` of three job directories (a chain of restores), four
private files and an inline meta handle; the names and sizes vary as real ones do.
"""

import random
import uuid
from pathlib import Path
from struct import pack
from typing import BinaryIO

BASE = "hdfs://nameservice1/flink/checkpoints/prod/user-profile"
CHECKPOINT_ID = 48_211
PRIVATE = ("OPTIONS-000009", "MANIFEST-000004", "CURRENT", "000123.log")


def generated_metadata(
    path: Path, references: int, *, parallelism: int = 200, operators: int = 5, trailer: bytes
) -> Path:
    """Write ``references`` file references; ``trailer`` is the end of a real file (its
    properties).
    """
    rng = random.Random(20_240_611)
    jobs = [rng.randbytes(16).hex() for _ in range(3)]
    files, more = divmod(references, parallelism * operators)
    with path.open("wb") as out:
        out.write(pack(">IiqII", 0x4960672D, 4, CHECKPOINT_ID, 0, operators))
        for operator in range(operators):
            out.write(rng.randbytes(16) + pack(">iibi", parallelism, 32_768, 0, parallelism))
            for subtask in range(parallelism):
                last = operator == operators - 1 and subtask == parallelism - 1
                _subtask(out, rng, jobs, subtask, parallelism, files + (more if last else 0))
        out.write(trailer)
    return path


def _subtask(
    out: BinaryIO, rng: random.Random, jobs: list[str], subtask: int, parallelism: int, files: int
) -> None:
    first, end = subtask * 32_768 // parallelism, (subtask + 1) * 32_768 // parallelism
    private = min(len(PRIVATE), files)
    directory = f"{BASE}/{jobs[2]}/chk-{CHECKPOINT_ID}"
    out.write(
        pack(">iiibq", subtask, 0, 0, 11, CHECKPOINT_ID)
        + _utf(_uuid(rng))
        + pack(">iiq", first, end - first, 123_456)
    )
    out.write(b"\x01" + _utf(f"{directory}/{_uuid(rng)}") + pack(">i", 900) + rng.randbytes(900))
    out.write(pack(">i", files - private))
    for number in range(files - private):
        job = jobs[2 if rng.random() < 0.7 else rng.randrange(3)]
        size = 1 + int(abs(rng.gauss(0, 1)) * 33_554_432)
        out.write(
            _utf(f"{100 + 3 * number:06d}.sst")
            + b"\x02"
            + pack(">q", size)
            + _utf(f"{BASE}/{job}/shared/{_uuid(rng)}")
        )
    out.write(pack(">i", private))
    for name in PRIVATE[:private]:
        out.write(
            _utf(name)
            + b"\x02"
            + pack(">q", 20_000 + rng.randrange(90_000))
            + _utf(f"{directory}/{_uuid(rng)}")
        )
    out.write(_utf(_uuid(rng)) + pack(">bii", 0, 0, 0))


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))


def _utf(text: str) -> bytes:
    return pack(">H", len(text)) + text.encode("ascii")
