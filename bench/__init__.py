"""Benchmarks of muster: ratios against raw baselines, measured in one run. `make bench` runs them.

The speed of a machine drifts with its load and its disk. Two programs that run alternately, a
fraction of a second each, drift together. So every figure is a ratio of one round, and the result
is the median over many rounds.
"""
