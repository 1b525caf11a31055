"""Speed and size, measured against peers in the same run; results are JSON beside the code.

`python -m benchmarks` runs all, `python -m benchmarks cli embedding` some. Ratios carry over to other
machines, seconds do not.
"""
