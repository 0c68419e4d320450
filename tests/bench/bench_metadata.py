"""``_metadata`` of 100,000 and 1,000,000 file references to Arrow columns; against Flink's own
loader in a warm JVM.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ingest.metadata.columns import batches
from ingest.metadata.files import MetadataFile
from tests.bench.generated_metadata import generated_metadata
from tests.bench.harness import Report
from tests.lab.jars import compile_java, flink_jars
from tests.lab.releases import RELEASES

SOURCE = Path(__file__).parent / "java" / "LoadMetadata.java"
PROPERTIES = Path(__file__).parent.parent / "fixtures" / "metadata" / "properties-1.20.5.bin"
REFERENCES = (100_000, 1_000_000)
MOST_TIMES_LOADER = 0.6
MOST_TIMES_FILE = 6
RUNS = 8
BEST_OF_LAST = 5


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        trailer = PROPERTIES.read_bytes()
        files = [
            generated_metadata(
                Path(scratch, f"_metadata-{references}"), references, trailer=trailer
            )
            for references in REFERENCES
        ]
        small = generated_metadata(Path(scratch, "_metadata-small"), 4_000, trailer=trailer)
        loader_s = _loader(files, Path(scratch))
        for file, references, baseline_s in zip(files, REFERENCES, loader_s, strict=True):
            title = f"_metadata, {references:,} references"
            report(f"{title}: Flink's own loader", baseline_s, "s")
            ours_s = min(_timed(file, references) for _ in range(RUNS))
            report(
                f"{title}: to columns", ours_s, "s", baseline=baseline_s, budget=MOST_TIMES_LOADER
            )
            size_mb = file.stat().st_size / 1e6
            report(
                f"{title}: peak memory, all columns kept",
                _peak_mb(small, file),
                "MB",
                baseline=size_mb,
                budget=MOST_TIMES_FILE,
            )


def _timed(file: Path, references: int) -> float:
    started = time.perf_counter()
    rows = sum(batch.num_rows for batch in batches(MetadataFile(str(file)).pieces()))
    took_s = time.perf_counter() - started
    assert rows == references + 1_000, rows  # and one inline meta handle for each subtask
    return took_s


def _peak_mb(small: Path, file: Path) -> float:
    """How far the peak of a process of its own is above what it needs with its imports."""
    done = subprocess.run(
        [sys.executable, "-c", _KEEP_ALL, str(small), str(file)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


_KEEP_ALL = """
import re, sys
from pathlib import Path
from ingest.metadata.columns import batches
from ingest.metadata.files import MetadataFile

def kilobytes(name):  # of /proc: ru_maxrss would count the parent's memory before exec
    return int(re.search(rf"{name}:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

list(batches(MetadataFile(sys.argv[1]).pieces()))  # a small one: pyarrow imports on first use
before = kilobytes("VmRSS")
kept = list(batches(MetadataFile(sys.argv[2]).pieces()))
print((kilobytes("VmHWM") - before) * 1024 / 1e6)
"""


def _loader(files: list[Path], scratch: Path) -> list[float]:
    """Seconds for each file: the best of the last runs, after enough to warm the JVM up."""
    jars = flink_jars(RELEASES["1.20.5"])
    compile_java([SOURCE], f"{jars}/*", scratch)
    java = ["java", "-Xmx2g", "-cp", f"{scratch}:{jars}/*", "LoadMetadata", str(RUNS)]
    done = subprocess.run([*java, *map(str, files)], check=True, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if line and line[0].isdigit()]
    for line, references in zip(lines, REFERENCES, strict=True):
        assert {int(number) for number in line[1::2]} == {references}, (
            "Flink's loader sees other references"
        )
    return [min(float(seconds) for seconds in line[0::2][-BEST_OF_LAST:]) for line in lines]
