"""The HTTP API: routing, authentication, errors, the OpenAPI document, static files.

One module of `routes` for each resource.
"""
