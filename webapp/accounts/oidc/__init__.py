"""Sign-in by OpenID Connect beside local accounts: the authorization code flow with PKCE, as a
confidential client.

By Authlib, since django-allauth sends no nonce, does not check the signature, and believes user
info of somebody else: ``test_user_info_of_somebody_else_signs_nobody_in``.
"""
