"""Convolutions of time series and shares of positive values, compiled where numba is installed.

A kernel has nine weights: three are 2 and six are −1, so that a constant is mapped to 0; there are
84 of them. Dilated by d, with zeros beyond the ends,

    (w ∗ x)_t = Σ_{k=0..8} w_k x_{t + (k−4)d}
              = 3·Σ_{k: w_k = 2} x_{t + (k−4)d} − Σ_{k=0..8} x_{t + (k−4)d}.

A feature is the share of the time points t with (w ∗ x)_t > b. Every second kernel of a dilation
takes all time points, the others those where no zeros are met (all, if that leaves none).
A. Dempster, D. F. Schmidt and G. I. Webb, MiniRocket, KDD 2021.

This module imports numba when it is itself imported, so it is imported inside the function that
needs it.
"""

from itertools import combinations

import numpy as np

from ._recurrences import _compiled

# The positions of the three large weights of each kernel.
KERNELS = np.array(list(combinations(range(9), 3)))


@_compiled
def _shifted(x, shift, out):
    """out_t = x_{t + shift}, 0 beyond the ends."""
    n = len(x)
    low, high = max(0, -shift), min(n, n - shift)
    out[:] = 0
    if low < high:
        out[low:high] = x[low + shift : high + shift]


@_compiled
def _terms(x, dilation, shifted, total):
    """shifted (channels, 9, n): the x_{t + (k−4)d}; total (channels, n): their sums."""
    for c in range(len(x)):
        for k in range(9):
            _shifted(x[c], (k - 4) * dilation, shifted[c, k])
        total[c] = 0
        for k in range(9):
            total[c] += shifted[c, k]


@_compiled
def _convolved(shifted, total, places, used, out):
    """out = w ∗ x, summed over the channels in `used`."""
    out[:] = 0
    i, j, k = places
    for c in range(len(used)):
        if used[c]:
            x, y, z, s = shifted[c, i], shifted[c, j], shifted[c, k], total[c]
            for t in range(len(out)):
                out[t] += 3 * (x[t] + y[t] + z[t]) - s[t]


@_compiled
def _range(kernel, first, dilation, n):
    """First time point of a kernel's features, and the one after the last."""
    margin = 4 * dilation
    if (kernel + first) % 2 == 0 or n <= 2 * margin:
        return 0, n
    return margin, n - margin


@_compiled
def convolution(x, kernel, first, dilation, used):
    """w ∗ x of one kernel at the time points of its features; x (channels, n).

    first: place of the dilation among the biases; used (channels,): those that are summed.
    """
    channels, n = x.shape
    shifted, total = np.empty((channels, 9, n), x.dtype), np.empty((channels, n), x.dtype)
    out = np.empty(n, x.dtype)
    _terms(x, dilation, shifted, total)
    _convolved(shifted, total, KERNELS[kernel], used, out)
    low, high = _range(kernel, first, dilation, n)
    return out[low:high]


@_compiled
def positive_shares(values, starts, dilations, channels, biases, out):
    """out (series, features): shares of the time points at which a convolution exceeds a bias.

    values, starts: series i is the (channels, n) block of values from channels·starts[i];
    dilations (b,), ascending; channels (b, kernels, channels): those that are summed; biases (b,
    kernels). Feature j·84 + k is that of bias j and kernel k.
    """
    n_channels, n_kernels = channels.shape[2], len(KERNELS)
    for s in range(len(starts) - 1):
        n = starts[s + 1] - starts[s]
        x = values[n_channels * starts[s] : n_channels * starts[s + 1]].reshape((n_channels, n))
        shifted, total = np.empty((n_channels, 9, n), x.dtype), np.empty((n_channels, n), x.dtype)
        convolved = np.empty(n, x.dtype)
        first = 0
        while first < len(dilations):
            stop = first + 1
            while stop < len(dilations) and dilations[stop] == dilations[first]:
                stop += 1
            _terms(x, dilations[first], shifted, total)
            for k in range(n_kernels):
                _convolved(shifted, total, KERNELS[k], channels[first, k], convolved)
                low, high = _range(k, first, dilations[first], n)
                part = convolved[low:high]
                for j in range(first, stop):
                    bias, count = biases[j, k], 0
                    for t in range(len(part)):
                        count += part[t] > bias
                    out[s, j * n_kernels + k] = count / len(part)
            first = stop
