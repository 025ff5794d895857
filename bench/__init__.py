"""How fast muster is: ratios against raw baselines, measured in one run. `make bench` runs it.

What a machine does in a second drifts with its neighbours and its disk; what two programs do in
turns, a fraction of a second each, drifts for both. So every figure is a ratio of one round, and
the median of many rounds is what counts.
"""
