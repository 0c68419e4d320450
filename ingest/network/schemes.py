"""Which file systems of ours fsspec opens for a scheme.

Imported by what opens URIs; the clients load when they are needed.
"""

import fsspec

for _scheme in ("webhdfs", "swebhdfs"):
    fsspec.register_implementation(_scheme, "ingest.network.webhdfs.WebHdfs", clobber=True)
