"""Programs for one piece of work (`claude -p`, `codex exec`, ...): presets and dialects."""
