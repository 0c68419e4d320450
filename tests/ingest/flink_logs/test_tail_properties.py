"""Whatever happens to the files between two cycles, each record is read, and as the same one."""

import gzip
import json
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.flink_logs.tail import read_new
from ingest.records import LogRecord
from ingest.sources import LogSource
from tests.ingest.flink_logs.log_records import records_of

AT = datetime(2026, 11, 21, tzinfo=UTC)
LOGGER = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator    [] - "


def identity(record: LogRecord) -> tuple[object, ...]:
    return record.process, record.ts, record.record_hash, record.ordinal


@dataclass
class Cluster:
    """One process that logs into ``jm.log``; ``generations`` is what each file it ever wrote should
    hold in the end.
    """

    root: Path
    generations: list[bytes] = field(default_factory=lambda: [b""])
    written: int = 0
    rotated: int = 0
    torn: bytes = b""
    cursor: dict[str, object] | None = None
    found: list[LogRecord] = field(default_factory=list)

    @property
    def live(self) -> Path:
        return self.root / "jm.log"

    def append(self, data: bytes) -> None:
        with self.live.open("ab") as file:
            file.write(data)
        self.generations[-1] += data

    def write(self, lines: int, *, repeated: bool, trace: bool) -> None:
        for _ in range(lines):
            self.finish_torn()
            self.written += 0 if repeated and self.written else 1
            when = (AT + timedelta(milliseconds=self.written)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
            text = f"{when} WARN  {LOGGER}Record {self.written}\n" + (
                "java.io.IOException: x\n\tat a.b.C\n20 more\n" if trace else ""
            )
            self.append(text.encode())

    def tear(self, at: int) -> None:
        if not self.torn:
            self.written += 1
            when = (AT + timedelta(milliseconds=self.written)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
            text = f"{when} WARN  {LOGGER}Torn record {self.written}\n".encode()
            self.append(text[:at])
            self.torn = text[at:]

    def finish_torn(self) -> None:
        torn, self.torn = self.torn, b""
        if torn:
            self.append(torn)

    def rotate(self, copy: bool) -> None:
        self.finish_torn()
        if not self.live.exists():
            return
        for number in range(self.rotated, 0, -1):
            for suffix in ("", ".gz"):
                old = self.root / f"jm.log.{number}{suffix}"
                if old.exists():
                    old.rename(self.root / f"jm.log.{number + 1}{suffix}")
        self.rotated += 1
        if copy:
            shutil.copyfile(self.live, self.root / "jm.log.1")
            self.live.write_bytes(b"")
        else:
            self.live.rename(self.root / "jm.log.1")
        self.generations.append(b"")

    def pack(self, number: int) -> None:
        plain = self.root / f"jm.log.{number}"
        if plain.exists():
            Path(f"{plain}.gz").write_bytes(gzip.compress(plain.read_bytes(), 1))
            plain.unlink()

    def cycle(self, *, lost_cursor: bool = False, budget: int = 1 << 20) -> None:
        source = LogSource(globs=(f"{self.root}/jm.log*",), max_bytes_per_cycle=budget)
        result = read_new(source, "c", self.cursor, AT)
        assert result.skips == ()
        self.found += [
            record
            for observed in result.observed
            for record in observed.records
            if isinstance(record, LogRecord)
        ]
        if not lost_cursor:
            self.cursor = json.loads(json.dumps(result.cursor))


STEPS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 5), st.booleans(), st.booleans()),
    st.tuples(st.just("tear"), st.integers(1, 90)),
    st.tuples(st.just("rotate"), st.booleans()),
    st.tuples(st.just("pack"), st.integers(1, 4)),
    st.tuples(st.just("cycle"), st.booleans()),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=25))
def test_every_record_is_found_once_whatever_happens_to_the_files(
    steps: list[tuple[object, ...]],
) -> None:
    with TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        for name, *values in steps:
            match name:
                case "write":
                    cluster.write(int(values[0]), repeated=bool(values[1]), trace=bool(values[2]))
                case "tear":
                    # The writer of a torn line is slow, but not slower than two cycles.
                    cluster.tear(int(values[0]))
                case "rotate":
                    cluster.rotate(bool(values[0]))
                case "pack":
                    cluster.pack(int(values[0]))
                case "cycle":
                    cluster.cycle(lost_cursor=bool(values[0]))
                    cluster.finish_torn()
        cluster.finish_torn()
        for _ in range(4):
            cluster.cycle()
        expected = {
            identity(record)
            for text in cluster.generations
            for record in records_of(text, file="jm.log")
        }
        assert {identity(record) for record in cluster.found} == expected
