import urllib.error
import urllib.request
from contextlib import closing

from tests.lab.failing_store import BUCKET, FailingStore
from webapp.launch.home import free_port


def status_of(url, method):
    request = urllib.request.Request(url, data=b"x" if method == "PUT" else None, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_writes_fail_for_a_while_and_reads_do_not():
    port = free_port()
    root = f"http://127.0.0.1:{port}/{BUCKET}"
    with closing(FailingStore(("127.0.0.1", port), "SlowDown", 0, 60)) as store:
        assert [status_of(f"{root}/a/b", "PUT"), status_of(root, "GET")] == [503, 200]
        store.end_fault()
        assert status_of(f"{root}/a/b", "PUT") == 200
