"""Programs that the benchmarks start: each measured side runs in a process of its own."""
