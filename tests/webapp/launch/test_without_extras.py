"""The base dependencies of ``pyproject.toml`` are all that the web server needs."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.installation import Installation
from tests.lived_in import SECRET
from tests.migrated import home_with_database
from webapp.launch.home import free_port

ANSWERS_WITHIN_S = 60
RECORDED = {"from": "2026-11-21T04:00:00Z", "to": "2026-11-21T05:00:00Z"}


class WithoutExtras(Installation):
    def start(self, *words: str) -> "subprocess.Popen[str]":
        return super().start("-m", "tests.without_extras", *words)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> WithoutExtras:
    """With the jobs of a recording."""
    home = home_with_database(tmp_path_factory.mktemp("base") / "home")
    made = WithoutExtras(home)
    made.story("live")
    return made


@contextmanager
def serving(installation: Installation) -> Iterator[str]:
    address = f"127.0.0.1:{free_port()}"
    server = installation.start("-m", "webapp.launch.web", "--bind", address, "--processes", "1")
    try:
        give_up = time.monotonic() + ANSWERS_WITHIN_S
        while not answers(f"http://{address}/healthz"):
            assert server.poll() is None and time.monotonic() < give_up
            time.sleep(0.2)
        yield f"http://{address}"
    finally:
        server.terminate()
        server.communicate()


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=ANSWERS_WITHIN_S).ok
    except requests.ConnectionError:
        return False


@pytest.mark.long
def test_checks_of_django_and_the_clock_of_celery_load(installation: WithoutExtras) -> None:
    celery = ["-m", "celery", "--app", "webapp.config.celery", "report"]
    for words in (["manage.py", "check"], celery):
        done = installation.run(*words)
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.long
def test_pages_charts_and_the_api_answer_and_otlp_names_its_extra(
    installation: WithoutExtras,
) -> None:
    token = installation.run("manage.py", "create_token", "ada").stdout.strip()
    shipper = installation.run("manage.py", "push_token", "secretive").stdout.strip()
    with serving(installation) as weir, requests.Session() as reader:
        page = reader.get(f"{weir}/sign-in/")
        (csrf, *_same) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        entered = {"username": "ada", "password": SECRET, "csrfmiddlewaretoken": csrf}
        fleet = reader.post(f"{weir}/sign-in/", entered)
        (job, *_others) = re.findall(r'href="(/jobs/case/\w{32}/?)[?"]', fleet.text)
        assert reader.get(weir + job).ok
        drawn = reader.get(f"{weir}{job.rstrip('/')}/charts/strip", params=RECORDED).json()
        assert drawn["figure"]["data"]
        asked = {"Authorization": f"Bearer {token}"}
        listed = requests.get(f"{weir}/api/v1/checkpoints/", headers=asked, timeout=60)
        assert listed.json()["results"]
        for path in ("logs", "metrics"):
            sent = {"Authorization": f"Bearer {shipper}"}
            url = f"{weir}/api/v1/push/v1/{path}"
            refused = requests.post(url, json={}, headers=sent, timeout=60)
            assert refused.status_code == 501
            assert "pip install 'weir[otlp]'" in refused.text


def test_a_source_in_zookeeper_names_its_extra(installation: WithoutExtras, tmp_path: Path) -> None:
    declared = tmp_path / "sources.yml"
    declared.write_text("sources: [{name: ha, zookeeper: {hosts: ['127.0.0.1:2181']}}]")
    done = installation.run("manage.py", "discover", "--file", str(declared))
    assert done.returncode == 1
    assert "pip install 'weir[zookeeper]'" in done.stdout


def test_a_job_of_spark_names_its_extra(installation: WithoutExtras) -> None:
    lake = str(installation.home / "lake")
    done = installation.run("-m", "spark_jobs", "log_events", "--lake", lake)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("pip install 'weir[spark]'")
