"""Views of the content of the log: searches, exports, the digest, the work over a time, and
how a conversation went.
"""
