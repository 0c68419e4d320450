"""The two images of the ``Dockerfile``: built by buildah on a Debian of debootstrap's, and run.

The base of the ``Dockerfile`` cannot be pulled everywhere, so its name is given to a base made here:
Debian's Python of the same version. Everything else is the ``Dockerfile``'s own steps.
"""

import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from ingest.replay.shipped import recordings
from tests.integration.running import until
from tests.programs import Running
from webapp.config import secrets
from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import free_port, listens
from webapp.launch.variables import redis_server

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.skipif(
        not (shutil.which("buildah") and shutil.which("debootstrap") and os.getuid() == 0),
        reason="needs root and Debian's buildah and debootstrap",
    ),
]
BASE = "docker.io/library/python:3.11-slim-bookworm"
DRIVER = os.environ.get("STORAGE_DRIVER", "overlay")
"""Of layers; `vfs` works everywhere and copies each."""
UID = 10_001
HOME = "/srv/weir"
"""Not that of the image: now and then buildah mounts the image's own volume over ours."""
MOST_WEB_MB, MOST_WORKER_MB = 900, 2_500
OF_THIS_MACHINE = (
    *("/etc/apt/apt.conf.d", "/etc/apt/sources.list.d", "/usr/share/keyrings"),
    *("/etc/apt/sources.list", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"),
)
"""How it reaches its archives, which the base copies."""
SERVICES = yaml.safe_load((PROJECT_DIR / "compose.yaml").read_text())["services"]


class Buildah:
    """buildah with a store of its own, in which a container is a changed root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        configuration = folder / "storage.conf"
        configuration.write_text(
            f'[storage]\ndriver = "{DRIVER}"\ngraphroot = "{folder}/graph"\n'
            f'runroot = "{folder}/run"\n'
        )
        self.variables = {
            **os.environ,
            "CONTAINERS_STORAGE_CONF": str(configuration),
            "BUILDAH_ISOLATION": "chroot",
        }

    def __call__(self, *words: str, may_fail: bool = False) -> str:
        done = subprocess.run(
            ["buildah", *words],
            env=self.variables,
            cwd=PROJECT_DIR,
            capture_output=True,
            text=True,
            timeout=1_800,
            check=False,
        )
        assert may_fail or done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
        return done.stdout + (done.stderr if may_fail else "")

    def make_base(self) -> None:
        root = self.folder / "debian"
        sources = [*Path("/etc/apt/sources.list.d").glob("*"), Path("/etc/apt/sources.list")]
        texts = [path.read_text() for path in sources if path.is_file()]
        mirror = re.search(r"https?://\S+/debian/?(?=\s)", "\n".join(texts) + "\n")
        assert mirror, "no archive of Debian's in apt's sources"
        packages = "--include=python3,python3-venv,ca-certificates"
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", packages, "bookworm", root, mirror[0]],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2_000:]
        (root / "usr/bin/python").symlink_to("python3")
        (root / "etc/apt/sources.list").unlink(missing_ok=True)
        for name in filter(os.path.exists, OF_THIS_MACHINE):
            target = root / name[1:]
            if Path(name).is_dir():
                shutil.copytree(name, target, dirs_exist_ok=True)
            else:
                shutil.copy(name, target)
        base = self("from", "scratch").strip()
        self("add", "-q", base, str(root), "/")
        self("config", "--env", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", base)
        for name in os.environ:
            if name.startswith("PIP_"):
                self("config", "--env", f"{name}={os.environ[name]}", base)
        self("commit", "-q", "--rm", base, BASE)
        shutil.rmtree(root)

    def build(self, target: str) -> None:
        wheels = os.environ.get("PIP_FIND_LINKS", "")
        mounts = ["--volume", f"{wheels}:{wheels}:ro"] if Path(wheels).is_dir() and wheels else []
        tag = f"localhost/weir-{target}"
        self("bud", "--pull-never", "--layers", *mounts, "--target", target, "-t", tag, ".")


class Containers:
    """One for each command, all with the same home."""

    def __init__(self, buildah: Buildah, home: Path, variables: Mapping[str, str]) -> None:
        self.buildah = buildah
        self.options = ["--volume", f"{home}:{HOME}"]
        self.options += ["--volume", f"{recordings()}:/recordings:ro"]
        self.options += [f"--env={name}={value}" for name, value in variables.items()]

    def run(self, target: str, *command: str, may_fail: bool = False) -> str:
        name = self._container(target)
        try:
            return self.buildah("run", *self.options, name, "--", *command, may_fail=may_fail)
        finally:
            self.buildah("rm", name, may_fail=True)

    def start(self, target: str, *command: str) -> Running:
        words = ["buildah", "run", *self.options, self._container(target), "--", *command]
        name = command[-1].replace("/", "-")
        return Running(name, words, self.buildah.variables, self.buildah.folder / "logs")

    def _container(self, target: str) -> str:
        return self.buildah("from", "--pull-never", f"localhost/weir-{target}").strip()


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    buildah = Buildah(tmp_path_factory.mktemp("images"))
    try:
        buildah.make_base()
        buildah.build("web")
        buildah.build("worker")
        yield buildah
    finally:
        buildah("rm", "--all", may_fail=True)
        shutil.rmtree(buildah.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def containers(buildah: Buildah) -> Iterator[Containers]:
    home = buildah.folder / "home"
    home.mkdir()
    os.chown(home, UID, UID)
    queue, connect = free_port(), free_port()
    variables = {
        "WEIR_HOME": HOME,
        "WEIR_REDIS_URL": f"redis://127.0.0.1:{queue}/0",
        "WEIR_SECRET_KEY": secrets.new_secret_key(),
        "WEIR_FIELD_KEYS": secrets.new_field_key(),
        "SPARK_REMOTE": f"sc://127.0.0.1:{connect}",
        "WEIR_MOST_ROWS_WITHOUT_SPARK": "0",
        # Docker and Kubernetes give a container a name that it can look up.
        "SPARK_LOCAL_HOSTNAME": "localhost",
    }
    with ExitStack() as stack:
        valkey = [redis_server(), "--port", str(queue), "--bind", "127.0.0.1", "--save", ""]
        stack.callback(Running("valkey", valkey, os.environ, buildah.folder / "logs").stop)
        containers = Containers(buildah, home, variables)
        containers.run("web", *SERVICES["database-schema"]["command"])
        here = {
            "${SPARK_MASTER_URL:-spark://spark-master:7077}": "local[2]",
            "${SPARK_DRIVER_MEMORY:-2g}": "1g",
            "spark.connect.grpc.binding.port=15002": f"spark.connect.grpc.binding.port={connect}",
        }
        spark = [here.get(word, word) for word in SERVICES["spark-connect"]["command"]]
        stack.callback(containers.start("worker", *spark).stop)
        until(lambda: listens("127.0.0.1", connect), 300, "Spark Connect", every_s=1)
        yield containers


def test_nobody_is_root(containers: Containers) -> None:
    assert {containers.run(target, "id", "-u").strip() for target in ("web", "worker")} == {
        str(UID)
    }


def test_the_web_image_has_neither_java_nor_spark(containers: Containers) -> None:
    look = "command -v java; python -c 'import pyspark' && echo spark"
    assert "ModuleNotFoundError" in containers.run("web", "sh", "-c", look, may_fail=True)
    assert "/java" in containers.run("worker", "sh", "-c", look)


def test_the_web_image_serves_pages_and_documentation(containers: Containers) -> None:
    port = free_port()
    command = [
        word.replace("0.0.0.0:8000", f"127.0.0.1:{port}") for word in SERVICES["web"]["command"]
    ]
    web = containers.start("web", *command)
    try:
        until(lambda: listens("127.0.0.1", port), 120, "the web server", every_s=1)
        for path, text in (("healthz", "ok"), ("sign-in/", "<form"), ("docs/", "Weir")):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=30) as answer:
                assert answer.status == 200 and text in answer.read().decode(), path
    finally:
        web.stop()


def test_the_worker_image_runs_a_cycle_on_spark(containers: Containers) -> None:
    manage = ("python", "manage.py")
    recorded = "/recordings/1.20.5/E"
    containers.run("worker", *manage, "import_recording", recorded, "--cluster", "case")
    containers.run("worker", *manage, "run_pipeline")
    rows = containers.run("worker", *manage, "checkpoints", "--cluster", "case")
    assert rows.count('"declined"') >= 1


def test_the_files_of_an_image_belong_to_root_and_are_no_larger_than_said(
    buildah: Buildah, containers: Containers
) -> None:
    owned = "find /opt/weir -user 10001 | head -3; du -sm /opt/weir | cut -f1"
    for target, most_mb in (("web", MOST_WEB_MB), ("worker", MOST_WORKER_MB)):
        *files, size_mb = containers.run(target, "sh", "-c", owned).split()
        assert files == [] and int(size_mb) <= most_mb
