"""Sign-in by OpenID Connect beside local accounts: the authorization code flow with PKCE, as a
confidential client.
"""
