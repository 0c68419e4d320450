from typing import Any
from urllib.parse import urlencode

from ingest.discovery.kubernetes.access import ApiServer
from ingest.errors import Skipped
from ingest.flink_rest.client import Gate, RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.messages import message
from ingest.sources import Auth

PAGE_BYTES = 32 * 1024 * 1024
PAGE_TIMEOUT_S = 10.0
RETRY_PAUSE_S = 1.0
"""Pause after 429 or 503, since the API server is overloaded."""

_MEANING_OF_STATUS = {
    401: message(
        "HTTP 401: the token or certificate is not known to the API server, or has expired"
    ),
    403: message("HTTP 403: RBAC does not allow 'list' of it"),
    404: message("HTTP 404: there is no such resource; is its CustomResourceDefinition installed?"),
    410: message("HTTP 410: that version is no longer available"),
    429: message("HTTP 429: the API server is overloaded"),
}


class ApiFault(Skipped):
    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class Api(RestClient):
    """Errors have the status of a failed answer, but no text."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(
            server.url,
            auth=Auth("bearer", server.token) if server.token else None,
            tls=server.tls,
            server_name=server.server_name,
            request_timeout_s=PAGE_TIMEOUT_S,
            max_response_bytes=PAGE_BYTES,
            gate=Gate(same_path_pause_s=RETRY_PAUSE_S),
        )

    async def page(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        """A list object, with ``items`` and ``metadata``. Raises ``ApiFault``."""
        query = f"?{urlencode(parameters)}"
        try:
            document = await self.get(path + query)
        except (BadAnswer, Unanswered) as error:
            status = error.status or 0
            text = str(error).replace(query, "").rstrip(".")
            if meaning := _MEANING_OF_STATUS.get(status):
                text = message(
                    "{path:name} is answered by {meaning:text}", path=path, meaning=meaning
                )
            raise ApiFault(text, status) from error
        match document:
            case {"items": list(), "metadata": dict()}:
                return dict(document)
        raise ApiFault(
            message("{path:name} answers something that is not a Kubernetes list", path=path), 200
        )
