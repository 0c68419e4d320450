"""Registers Weir's own file systems with fsspec, by scheme. Weir's own WebHDFS (``webhdfs``) is
bounded, checks redirects and reports what a NameNode refused. Only ``spelled_as`` of
:mod:`ingest.network.uris` turns names of listings into URIs.
``tests/ingest/storage/test_other_stores.py`` compares the stores, with emulators where
``AZURITE_BLOB`` and ``FAKE_GCS_SERVER`` name them.
"""

import fsspec

for _scheme in ("webhdfs", "swebhdfs"):
    fsspec.register_implementation(_scheme, "ingest.network.webhdfs.WebHdfs", clobber=True)
