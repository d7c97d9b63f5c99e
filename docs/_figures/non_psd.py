"""The pictures of docs/non_psd.md: python docs/_figures/non_psd.py writes the SVGs."""

from pathlib import Path

import matplotlib
import numpy as np

from mahalearn import MeasureKernel, OneVsRestSVC
from mahalearn.measures import Elastic

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parents[1] / "images"
BLUE, RED, GREY = "#2f5f95", "#b8472f", "#8a939d"
# Mean test error in %, python -m benchmarks.objects spectra.
ERRORS = {
    "DTW": (22.7, 16.0, 16.9, 20.3),
    "DTW, 10 % band": (31.2, 17.4, 17.5, 22.4),
    "MSM": (15.9, 14.3, 14.1, 14.8),
}
KINDS = ("as is", "clip", "flip", "flip, raw rows")


def bumps(rng, y):
    """Series with one bump or two, shifted in time."""
    t = np.linspace(0, 1, 60)
    shift = rng.uniform(0.2, 0.4, (len(y), 1))
    second = np.where(y == 1, 0.4, 0.0)[:, None] * np.exp(-(((t - shift - 0.35) / 0.04) ** 2))
    return np.exp(-(((t - shift) / 0.05) ** 2)) + second + rng.normal(0, 0.1, (len(y), 60))


def spectrum(path):
    """Eigenvalues of a DTW kernel, and what the policies do to the decisions for new objects."""
    rng = np.random.default_rng(0)
    y, y_new = rng.integers(0, 2, 60), rng.integers(0, 2, 300)
    X, X_new = bumps(rng, y), bumps(rng, y_new)
    kernel = MeasureKernel(Elastic("dtw", window=0.1), kind="rbf").fit(X)
    K, k = kernel(X, X), kernel(X_new, X)
    values = np.linalg.eigvalsh(K)[::-1]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.bar(np.arange(len(values)), values, color=np.where(values < 0, RED, BLUE), width=1)
    left.set_yscale("symlog", linthresh=0.01)
    left.set(title="eigenvalues of exp(−DTW²/mean²)", xlabel="rank", ylabel="eigenvalue")
    for spectrum, color, name in (("ignore", GREY, "as is"), ("clip", BLUE, "clip"),
                                  ("flip", RED, "flip")):  # fmt: skip
        model = OneVsRestSVC(C=10, kernel="precomputed", spectrum=spectrum).fit(K, y)
        signed = np.sort(model.decision_function(k) * (2 * y_new - 1))
        share = np.arange(1, len(signed) + 1) / len(signed)
        error = f"{100 * np.mean(signed < 0):.1f} % wrong"
        right.plot(signed, share, color=color, label=f"{name}: {error}")
    right.axvline(0, color="black", linewidth=0.8)
    right.set(title="margins of 300 new samples")
    right.set(xlabel="margin y·f(x)", ylabel="share with a smaller margin")
    right.legend(frameon=False)
    figure.savefig(path)


def errors(path):
    """The table of the page as bars."""
    figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
    place = np.arange(len(ERRORS))
    for i, (kind, color) in enumerate(zip(KINDS, (GREY, BLUE, RED, "#e3b7ab"), strict=True)):
        heights = [row[i] for row in ERRORS.values()]
        ax.bar(place + 0.2 * (i - 1.5), heights, 0.18, color=color, label=kind)
    ax.set_xticks(place, ERRORS)
    ax.set(ylabel="mean test error in %")
    ax.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    figure.savefig(path)


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "mahalearn", "font.size": 9})
    spectrum(IMAGES / "non_psd_spectrum.svg")
    errors(IMAGES / "non_psd_errors.svg")
