"""A path in whatever words, brought to the one that audits know."""

import pytest

from ingest.uris import BadUri
from tests.webapp.storage.builders import root
from webapp.cleanup.missing_files.written_paths import named_file

pytestmark = pytest.mark.django_db
JOB, UUID = "37c37bd26da17b2e6ac433866d51201d", "bdc46a09-fc2a-4290-af5c-02bd39e9a1ca"
BELOW = f"{JOB}/shared/{UUID}"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (f"hdfs://nn1/user/flink/{BELOW}", f"hdfs://nn1/user/flink/{BELOW}"),
        (
            f"Caused by: java.io.FileNotFoundException: File does not exist: /user/flink/{BELOW}",
            f"hdfs://nn1/user/flink/{BELOW}",
        ),
        (f"  /user/flink/{BELOW} ", f"hdfs://nn1/user/flink/{BELOW}"),
        (
            f"java.io.FileNotFoundException: No such file or directory: s3a://bucket/{BELOW}",
            f"s3://bucket/{BELOW}",
        ),
        (
            f"java.io.FileNotFoundException: /mnt/ck/{BELOW} (No such file or directory)",
            f"file:/mnt/ck/{BELOW}",
        ),
    ],
)
def test_the_words_of_each_file_system_lead_to_one_path(written, path):
    root("hdfs://nn1/user/flink")
    root("s3://bucket")
    found = named_file(written)
    assert (found.path, found.place, found.job_id) == (path, "shared", JOB)
    assert (found.root is None) == path.startswith("file:")


def test_a_checkpoint_as_a_whole_is_its_metadata():
    root("s3://bucket")
    told = (
        "java.io.FileNotFoundException: Cannot find checkpoint or savepoint file/directory "
        f"'s3://bucket/{JOB}/chk-7' on file system 's3'."
    )
    found = named_file(told)
    assert (found.path, found.place, found.job_id) == (
        f"s3://bucket/{JOB}/chk-7/_metadata",
        "metadata",
        JOB,
    )
    assert (
        named_file("s3://bucket/sp/savepoint-4225ee-108a2af30075").path
        == "s3://bucket/sp/savepoint-4225ee-108a2af30075/_metadata"
    )


def test_a_local_root_comes_before_a_name_node():
    root("hdfs://nn1/user/flink")
    root("file:/user/flink")
    assert named_file(f"/user/flink/{BELOW}").path == f"file:/user/flink/{BELOW}"


@pytest.mark.parametrize("written", ["", "nothing", "java.io.IOException: disk full", "/", "a/b"])
def test_what_names_no_file_is_refused(written):
    with pytest.raises(BadUri):
        named_file(written)
