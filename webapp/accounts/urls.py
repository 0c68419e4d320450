from django.urls import path

from webapp.accounts import languages, time_zones, views
from webapp.accounts.audit import views as audit
from webapp.accounts.oidc import views as oidc
from webapp.accounts.users import views as users

urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-in/oidc/", oidc.start, name="oidc-start"),
    path("sign-in/oidc/back/", oidc.back, name="oidc-back"),
    path("language/", languages.choose, name="choose-language"),
    path("sign-out/", views.SignOut.as_view(), name="sign-out"),
    path("access/audit/", audit.audit, name="access-audit"),
    path("access/audit.csv", audit.export, name="access-audit-export"),
    path("access/users/", users.users, name="access-users"),
    path("access/users/add/", users.add, name="access-user-add"),
    path("access/users/<int:pk>/", users.user, name="access-user"),
    path("access/users/<int:pk>/change/", users.change, name="access-user-change"),
    path("access/users/<int:pk>/switch/", users.switch, name="access-user-switch"),
    path("access/users/<int:pk>/password/", users.reset_password, name="access-user-password"),
    path("access/users/<int:pk>/sign-out/", users.end_sessions, name="access-user-sign-out"),
    path("access/users/<int:pk>/remove/", users.remove, name="access-user-remove"),
    path(
        "access/users/<int:pk>/tokens/<int:token>/revoke/",
        users.revoke_token,
        name="access-user-token-revoke",
    ),
    path("account/sign-out-everywhere/", views.sign_out_everywhere, name="account-sign-out"),
    path("account/time-zone/", time_zones.choose, name="choose-time-zone"),
    path("account/", views.account, name="account"),
    path("account/password/", views.change_password, name="account-password"),
    path("account/tokens/", views.create_token, name="account-token-create"),
    path("account/tokens/<int:pk>/revoke/", views.revoke_token, name="account-token-revoke"),
]
