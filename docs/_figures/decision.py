"""The decision picture of docs/which.md: python docs/_figures/decision.py writes the SVG."""

from html import escape
from pathlib import Path

TARGET = Path(__file__).parents[1] / "images" / "decision.svg"
WIDTH, HEIGHT = 1040, 640
QUESTION, ANSWER, CHECK = ("#e8eef6", "#2f5f95"), ("#ffffff", "#2f5f95"), ("#fbeae5", "#b8472f")
LINE = 18


def box(x, y, w, lines, colors, code=()):
    """A rounded box; lines whose numbers are in code are set in a fixed-width font."""
    height = LINE * len(lines) + 16
    fill, edge = colors
    parts = [
        f'<rect x="{x}" y="{y}" width="{w}" height="{height}" rx="8" fill="{fill}" '
        f'stroke="{edge}" stroke-width="1.4"/>'
    ]
    for i, line in enumerate(lines):
        font = ' class="code"' if i in code else (' class="head"' if i == 0 else "")
        place = f'x="{x + w / 2}" y="{y + 21 + LINE * i}"'
        parts.append(f"<text {place}{font}>{escape(line)}</text>")
    return "\n".join(parts)


def arrow(x1, y1, x2, y2, label=""):
    """A line that goes down, across and down."""
    middle = (y1 + y2) / 2
    path = f"M{x1},{y1} V{middle} H{x2} V{y2 - 3}"
    line = f'<path d="{path}" fill="none" stroke="#5a6470" marker-end="url(#tip)"/>'
    text = f'<text x="{x2}" y="{middle - 5}" class="label">{escape(label)}</text>' if label else ""
    return line + text


PARTS = [
    box(390, 12, 260, ["What do you have?"], QUESTION),
    arrow(520, 46, 180, 92),
    arrow(520, 46, 520, 92),
    arrow(520, 46, 870, 92),
    box(60, 92, 240, ["A table of numbers", "rows and columns"], QUESTION),
    box(390, 92, 260, ["Objects and a measure", "strings, series, shapes, sets"], QUESTION),
    box(750, 92, 240, ["A square matrix", "distances or similarities"], QUESTION),
    # tables
    arrow(180, 144, 180, 176),
    box(40, 176, 280, ["No tuning wanted", "MahalanobisClassifierCV()"], ANSWER, {1}),
    box(
        40,
        238,
        280,
        [
            "Bell-shaped classes, missing cells,",
            "more columns than rows, streams",
            "GaussianClassifier(shrinkage=…)",
        ],
        ANSWER,
        {2},
    ),
    box(
        40,
        318,
        280,
        [
            "Curved boundaries, unequal spread",
            "KernelQuadraticDiscriminant()",
            "KernelFisherDiscriminant()",
        ],
        ANSWER,
        {1, 2},
    ),
    box(
        40,
        398,
        280,
        ["Columns in different units, an SVM", "MahalanobisSVC()"],
        ANSWER,
        {1},
    ),
    box(40, 460, 280, ["More than 10,000 rows", "the same with landmarks=500"], ANSWER, {1}),
    # objects
    arrow(520, 144, 520, 176),
    box(
        345,
        176,
        350,
        [
            "Strings, sequences, missing cells",
            'KernelQuadraticDiscriminant(kernel="edit")',
            '"gower" · "hausdorff" · "alignment" …',
        ],
        ANSWER,
        {1, 2},
    ),
    box(
        345,
        256,
        350,
        ["Time series", 'KernelRidgeClassifier(kernel="elastic")'],
        ANSWER,
        {1},
    ),
    box(
        345,
        318,
        350,
        ["Several methods at once", 'MahalanobisClassifierCV(kernel="edit")'],
        ANSWER,
        {1},
    ),
    box(
        345,
        380,
        350,
        ["A function of your own, f(a, b)", 'kernel=MeasureKernel(f, kind="neg_squared")'],
        ANSWER,
        {1},
    ),
    box(345, 442, 350, ["A kernel of your own", "kernel=k, k(X, Y) a matrix"], ANSWER, {1}),
    # matrices
    arrow(870, 144, 870, 176),
    box(720, 176, 300, ["Diagnose it", "print(diagnose(D, y))"], ANSWER, {1}),
    arrow(870, 228, 870, 252),
    box(
        720,
        252,
        300,
        [
            "Then a pipeline",
            "ProximityKernel(), KernelSearchCV(",
            "KernelQuadraticDiscriminant(",
            'kernel="precomputed"))',
        ],
        ANSWER,
        {1, 2, 3},
    ),
    box(
        720,
        358,
        300,
        ["Negative eigenvalues?", 'spectrum="krein", "flip", "clip" …'],
        ANSWER,
        {1},
    ),
    box(720, 420, 300, ["Coordinates for other tools", "PseudoEuclideanEmbedding()"], ANSWER, {1}),
    # all
    box(
        40,
        540,
        310,
        [
            "May a sample be of none of the classes?",
            "MahalanobisNovelty()",
            "p-values, −1, false alarms",
        ],
        CHECK,
        {1},
    ),
    box(
        365,
        540,
        310,
        ["Which classes are possible, at 95 %?", "ConformalClassifier(model)", "prediction sets"],
        CHECK,
        {1},
    ),
    box(
        690,
        540,
        310,
        [
            "Do new samples come from another source?",
            "detector.drift_test(X_new)",
            "one p-value for a batch",
        ],
        CHECK,
        {1},
    ),
    '<text x="520" y="528" class="label">and, whatever you have:</text>',
]
STYLE = """
text { font: 13px "Helvetica Neue", Arial, sans-serif; text-anchor: middle; fill: #1d2733; }
.head { font-weight: 600; }
.code { font: 12.5px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1d4f85; }
.label { fill: #5a6470; font-style: italic; }
"""
SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>Which estimator should I use?</title>
<style>{STYLE}</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#5a6470"/></marker></defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
{chr(10).join(PARTS)}
</svg>
"""

if __name__ == "__main__":
    TARGET.write_text(SVG, encoding="utf-8")
