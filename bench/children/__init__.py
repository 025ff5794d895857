"""Programs that the benchmarks start: what is measured runs in a process of its own."""
