"""The API resources of a feature: path, views and URL name of each."""

from typing import Any

from rest_framework.viewsets import GenericViewSet

Routes = tuple[tuple[str, type[GenericViewSet[Any]], str], ...]
