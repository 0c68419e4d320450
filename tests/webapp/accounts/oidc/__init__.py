"""Sign-in by OpenID Connect, at a real provider."""
