"""A team as documents: export, import, and merging two machines' versions."""
