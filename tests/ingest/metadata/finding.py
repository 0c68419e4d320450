"""Every ``_metadata`` below a folder, local or of another storage."""

import fsspec

from ingest.metadata.files import NAME, MetadataFile
from ingest.network.uris import spelled_as
from ingest.storage.instants import modified_at


def find(place: str) -> list[MetadataFile]:
    filesystem, root = fsspec.core.url_to_fs(place)
    files = []
    for folder, _, names in filesystem.walk(root, detail=True):
        if info := names.get(NAME):
            path = f"{folder.rstrip('/')}/{NAME}"
            path = spelled_as(place, filesystem, path) if "://" in place else path
            files.append(MetadataFile(path, int(info["size"]), modified_at(info)))
    return sorted(files, key=lambda file: file.path)
