"""Timings as ratios within one run: `python -m benchmarks.<name>` from the project's root."""
