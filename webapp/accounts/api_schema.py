"""How API clients sign in, for the OpenAPI document."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenScheme(OpenApiAuthenticationExtension):
    """Found by drf-spectacular once this module is loaded, which ``webapp.site.api_urls`` does."""

    target_class = "webapp.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token made on the account page."}
