"""The card that messengers show for a link: python docs/_figures/social.py writes the PNG."""

from pathlib import Path

import matplotlib.image
from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1]
TARGET = DOCS / "_static" / "social.png"


def draw():
    """Name, tagline and the picture of the first page, 1200 × 630 pixels."""
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="#ffffff")
    figure.text(0.05, 0.84, "mahalearn", size=54, weight="bold", color="#2f5f95")
    figure.text(0.05, 0.735, "Classify with distances in Python", size=26, color="#1d2733")
    tagline = "Strings, time series, distance matrices, embeddings, small tables:\n"
    tagline += "calibrated probabilities, and a p-value for “none of these”."
    figure.text(0.05, 0.6, tagline, size=19, color="#5a6470", linespacing=1.4)
    axes = figure.add_axes((0.03, 0.03, 0.94, 0.52))
    axes.imshow(matplotlib.image.imread(DOCS / "images" / "hero.png"))
    axes.set_axis_off()
    figure.savefig(TARGET)


if __name__ == "__main__":
    draw()
