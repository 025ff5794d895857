"""The HTTP API: routing, authentication, errors, streams, the OpenAPI document, static files.

One module of `routes` for each resource; types that several of them share are in `types.py`. A
handler reads the open team (`muster.team`) and the views, sends commands, and keeps no state.
"""
