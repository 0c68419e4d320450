"""Sign-in by OpenID Connect: authorization code flow with PKCE, as a confidential client. Authlib
does it, since django-allauth sends no nonce, does not check signatures, and accepts user info of
another subject.
"""
