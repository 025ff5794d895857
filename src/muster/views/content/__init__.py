"""Views of the content of the log: searches, exports, the digest, and the work over a time."""
