"""Web Push: notifications of browsers, also while the dashboard is closed.

Owns the messages, their encryption (RFC 8291), muster's key for push services (`push.key` in the
home, RFC 8292) and the connection to a push service. The subscription of a browser is a part of its
session, which `http.signing_in` keeps: it ends when the browser is signed out.
"""
