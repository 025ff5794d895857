"""Teams as templates: one TOML file with agents, souls, channels and rules, and no private words.

A template is a `muster.toml` with a table `[template]` in front. The files beside this one come
with muster; `muster team export --template` writes others.
"""
