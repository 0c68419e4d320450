"""What a feature offers over the API: address, views and name of each of its resources."""

from typing import Any

from rest_framework.viewsets import GenericViewSet

Routes = tuple[tuple[str, type[GenericViewSet[Any]], str], ...]
