from typing import Any
from urllib.parse import urlencode

from ingest.discovery.kubernetes.access import ApiServer
from ingest.errors import Skipped
from ingest.flink_rest.client import Gate, RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.sources import Auth

PAGE_BYTES = 32 * 1024 * 1024
PAGE_TIMEOUT_S = 10.0

_MEANING = {
    401: " The token or certificate is not known to the API server, or has expired.",
    403: " RBAC does not allow 'list' of it.",
    404: " There is no such resource; is its CustomResourceDefinition installed?",
    410: " That version is no longer available.",
}


class ApiFault(Skipped):
    """``status`` is 0 if no answer came."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class Api(RestClient):
    """Errors hold nothing of the server's answer but its status."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(
            server.url,
            auth=Auth("bearer", server.token) if server.token else None,
            tls=server.tls,
            server_name=server.server_name,
            request_timeout_s=PAGE_TIMEOUT_S,
            max_response_bytes=PAGE_BYTES,
            gate=Gate(same_path_pause_s=0),
        )

    async def page(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        """A list object, with ``items`` and ``metadata``. Raises ``ApiFault``."""
        query = f"?{urlencode(parameters)}"
        try:
            document = await self.get(path + query)
        except (BadAnswer, Unanswered) as error:
            status = error.status or 0
            text = str(error).replace(query, "") + _MEANING.get(status, "")
            raise ApiFault(text.rstrip("."), status) from error
        match document:
            case {"items": list(), "metadata": dict()}:
                return dict(document)
        raise ApiFault(f"{path} answers something that is not a Kubernetes list", 200)
