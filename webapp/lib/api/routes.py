from typing import Any

from rest_framework.viewsets import GenericViewSet

Routes = tuple[tuple[str, type[GenericViewSet[Any]], str], ...]
