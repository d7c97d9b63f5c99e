"""What the benchmarks share: interleaved timing on a fixed number of BLAS threads."""

import os
import time
import tracemalloc

import numpy as np
from threadpoolctl import threadpool_limits


def compare(candidates, *, threads=1, repeats=5):
    """Best time of each candidate, {name: seconds}.

    The candidates take turns, so that a noisy neighbour disturbs all of them alike, and the best of
    the repeats counts: noise only ever adds. On one thread it is processor time that is measured,
    which does not count the time in which other programs had the processor.
    """
    best = dict.fromkeys(candidates, float("inf"))
    clock = time.process_time if threads == 1 else time.perf_counter
    with threadpool_limits(limits=threads):
        for _ in range(repeats):
            for name, function in candidates.items():
                start = clock()
                function()
                best[name] = min(best[name], clock() - start)
    return best


def print_ratios(title, times, reference, limits=None):
    """Times as multiples of the reference, beside the limit that was set for them."""
    print(f"\n{title} (reference: {reference})")
    for name, seconds in times.items():
        limit = (limits or {}).get(name)
        goal = "" if limit is None else f"   goal {limit}"
        print(f"  {name:<44}{seconds / times[reference]:>9.2f} ×{goal}")


def peak_doubles(function):
    """Peak memory that numpy allocated in a call, in doubles."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


def print_machine():
    """The circumstances, as far as ratios depend on them."""
    print(f"{os.cpu_count()} cores, numpy {np.__version__}; times are ratios within this run")
