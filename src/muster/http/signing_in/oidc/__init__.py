"""Single sign-on by OpenID Connect: the provider that `[oidc]` names says who a person is."""
