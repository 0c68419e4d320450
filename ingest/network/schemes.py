from typing import Any

import fsspec

for _scheme in ("webhdfs", "swebhdfs"):
    fsspec.register_implementation(_scheme, "ingest.network.webhdfs.WebHdfs", clobber=True)


def of_listed(uri: str) -> tuple[Any, str]:
    """Like ``fsspec.core.url_to_fs``, without a cache of listings. For a URI from a listing, in
    which ``::`` is part of a name.
    """
    scheme, _, location = uri.partition("://")
    top = f"{scheme}://{location.partition('/')[0]}/"
    filesystem, _ = fsspec.core.url_to_fs(top, use_listings_cache=False)
    return filesystem, filesystem._strip_protocol(uri)
