from drf_spectacular.extensions import OpenApiAuthenticationExtension


class PushTokenScheme(OpenApiAuthenticationExtension):
    """The import of this module registers it with drf-spectacular."""

    target_class = "webapp.push.authentication.PushTokenAuthentication"
    name = "push_token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of a cluster to push its logs.",
        }
