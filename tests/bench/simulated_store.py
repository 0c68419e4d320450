"""An S3-compatible store (moto) as a process of its own, filled from within: to put each file by a
request would take longer than what is measured.

``python -m tests.bench.simulated_store BUCKET [Enabled]`` prints its endpoint. Each line of its
standard input names a file with a key a line, and is answered once those are there; it ends with
its input.
"""

import logging
import sys
from pathlib import Path

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer


def main(bucket: str, versioning: str = "") -> None:
    logging.disable(logging.INFO)
    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    backend.create_bucket(bucket, "us-east-1")
    if versioning:
        backend.put_bucket_versioning(bucket, versioning)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f"http://{host}:{port}", flush=True)
    for line in sys.stdin:
        for key in Path(line.strip()).read_text().split():
            backend.put_object(bucket, key, b"state")
        print("filled", flush=True)
    server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
