"""Figures of README.md from the benchmark pages: python docs/_figures/measured.py writes them.

It draws the critical-difference plots of the pages, too (``ranks``).

``figures()`` reads the tables of the pages. ``tests/test_docs_claims.py`` compares README and the
guide with it, so that no page contradicts another.
"""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
README = DOCS.parent / "README.md"


def page(name):
    """Text of a page of the guide."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def tables(name):
    """Tables of a page: lists of rows, a row is a list of cells without markup."""
    for block in re.findall(r"(?:^\|.*\n)+", page(name), re.MULTILINE):
        rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in block.splitlines()]
        yield [[cell.strip().strip("*`") for cell in row] for row in rows if "---" not in row[0]]


def table(name, *columns):
    """The first table of a page with these columns: {first cell: {column: cell}}.

    Of columns with the same head the first counts.
    """
    for head, *rows in tables(name):
        if set(columns) <= set(head):
            cells = {row[0]: reversed(list(zip(head, row, strict=True))) for row in rows}
            return {key: dict(row) for key, row in cells.items()}
    raise LookupError(f"docs/{name}.md has no table with the columns {columns}")


def figures():
    """Name → figure as the guide prints it."""
    found = {}
    novelty = table("benchmarks_novelty", "detector", "not used")
    for key, row in {
        "novelty": "KernelMahalanobisNovelty()",
        "ledoit": "class-wise Ledoit–Wolf Mahalanobis",
        "knn": "kNN distance (k = 5)",
        "lof": "LocalOutlierFactor",
        "forest": "IsolationForest",
    }.items():
        found[key] = novelty[row]["not used"].removeprefix("0")
    # The guide's detector on the same 13 sets; those used for defaults are marked in another table.
    marked = [row[0] for t in tables("benchmarks_novelty") for row in t if row[0].endswith("°")]
    *_, plain = (t for t in tables("benchmarks_novelty") if "with labels" in t[0])
    unused = [float(row[1]) for row in plain[1:] if row[0] + "°" not in marked]
    found["plain_novelty"] = f"{sum(unused) / len(unused) / 100:.3f}".removeprefix("0")
    for key in ("novelty", "ledoit", "plain_novelty"):
        found[f"{key}_percent"] = f"{100 * float(found[key]):.1f}"
    pyod = table("benchmarks_novelty", "detector", "best on sets")
    found["outliers"] = pyod["MahalanobisNovelty(), labels"]["AUROC"]
    found["unlabelled"] = pyod["MahalanobisNovelty(), no labels"]["AUROC"]
    found["pyod"] = max(row["AUROC"] for name, row in pyod.items() if name.startswith("PyOD"))
    contaminated = table("benchmarks_novelty", "detector", "5 %")
    found["contaminated"] = contaminated["MahalanobisNovelty(trim=share)"]["5 %"]
    found["contaminated_forest"] = contaminated["PyOD IForest"]["5 %"]
    *_, networks = (t for t in tables("benchmarks_embeddings") if "near" in t[0])
    near = {row[0]: row[1] for row in networks}
    for key, row in {
        "near": "MahalanobisNovelty()",
        "near_ledoit": "class-wise Ledoit–Wolf, unit rows",
        "near_plus": "shared, unit rows (Mahalanobis++)",
        "near_knn": "kNN (10), unit rows",
        "near_softmax": "softmax",
    }.items():
        found[key] = near[row]
    small = table("benchmarks_tables", "method", "error %", "ECE")
    for key, row in {
        "stack": "ensemble",
        "mean4": "mean of SVM, CatBoost, ExtraTrees, logistic regression",
        "catboost": "CatBoost",
        "svm": "RBF SVM, 8 × 8 grid",
        "rf": "random forest",
    }.items():
        found[f"{key}_error"] = f"{float(small[row]['error %']):.1f}"
        found[f"{key}_loss"] = small[row]["log loss"].removeprefix("0")
    default = table("benchmarks_tables", "method", "CPU, × the first")
    for key, start in {
        "fast": "ensemble",
        "single": "one model",
        "guard_svm": "RBF SVM",
        "guard_catboost": "CatBoost",
    }.items():
        row = next(row for name, row in default.items() if name.startswith(start))
        found[f"{key}_error"] = f"{float(row['error %']):.1f}"
        found[f"{key}_loss"] = row["log loss"].removeprefix("0")
    means = [
        dict(zip(head, rows[[row[0] for row in rows].index("mean")], strict=True))
        for head, *rows in tables("benchmarks_series")
        if {"1-NN-DTW", "ensemble", "MiniRocket"} <= set(head)
    ]
    for key, row in zip(("split", "resampled", "elsewhere"), means, strict=True):
        for method, column in {
            "stack": "ensemble",
            "rocket": "MiniRocket",
            "quant": "QUANT",
            "dtw": "1-NN-DTW",
        }.items():
            found[f"{key}_{method}"] = row[column]
    found["ridge"] = table("benchmarks_series", "ridge", "KFD")["mean"]["ridge"]
    found["series_cpu"] = re.search(r"takes (\d+) times MiniRocket", page("benchmarks_series"))[1]
    speed = table("benchmarks_speed", "method", "ratio")
    found["fisher"] = f"{float(speed['kernel Fisher']['ratio']):.0f}"
    found["neighbors"] = speed["kernel neighbours"]["ratio"]
    band = table("benchmarks_matrices", "measure", "as is")["DTW, 10 % band"]
    found |= {"svm_raw": band["as is"], "svm_clip": band["clip"]}
    cells = table("benchmarks_defaults", "k", "set to 0, plain")["3"]
    found |= {
        "cells_zero": cells["set to 0, plain"],
        "cells_nan": cells['NaN, `missing="ignore"'],
    }
    variants = table("benchmarks_novelty", "'other-classes'", "RC+ (default)")["mean"]
    found["default_rc"] = variants["RC+ (default)"].removeprefix("0")
    found["default_other"] = variants["'other-classes'"].removeprefix("0")
    matrices = table("benchmarks_matrices", "ensemble", "KQD", "k-NN")["mean"]
    found |= {f"matrices {name}": error for name, error in matrices.items()}
    cells = re.search(
        r"Test cells that agree: (\d+) of (\d+) \((\d+) %; by chance (\d+) %\)",
        page("reproduction"),
    )
    found |= dict(zip(("agree", "cells", "percent", "chance"), cells.groups(), strict=True))
    conclusions = re.search(r"(Of the papers' \d+ conclusions .*?)\.\n", page("reproduction"))[1]
    found["conclusions"] = conclusions.replace("Of", "of").replace(" are ", " ")
    return found


ROWS = """\
| unknown class in 13 tables never used for defaults | AUROC {novelty} (`KernelMahalanobisNovelty`), {plain_novelty} (`MahalanobisNovelty`) | class-wise Ledoit–Wolf {ledoit}, kNN {knn}, LOF {lof}, isolation forest {forest} | [novelty](docs/benchmarks_novelty.md) |
| 38 tables, at most 400 training rows: error, log loss | {stack_error} %, {stack_loss} (`effort="best"`) | mean of SVM, CatBoost, ExtraTrees and logistic regression {mean4_error} %, {mean4_loss}; CatBoost {catboost_error} %, {catboost_loss}; tuned SVM {svm_error} %, {svm_loss} | [tables](docs/benchmarks_tables.md) |
| 25 tables, at most 300 training rows, five splits each: error, log loss | {fast_error} %, {fast_loss} (default) | one model, `combine="best"`, {single_error} %, {single_loss}; tuned SVM {guard_svm_error} %, {guard_svm_loss}; CatBoost {guard_catboost_error} %, {guard_catboost_loss} | [tables](docs/benchmarks_tables.md) |
| time series: error on 13 standard splits; on six splits of each; on 7 sets from other packages | {split_stack} %; {resampled_stack} %; {elsewhere_stack} % | MiniRocket {split_rocket} %; {resampled_rocket} %; {elsewhere_rocket} %, at 1/{series_cpu} of the CPU time. QUANT {split_quant} %; {resampled_quant} %; {elsewhere_quant} %. 1-NN-DTW {split_dtw} %; {resampled_dtw} %; {elsewhere_dtw} % | [series](docs/benchmarks_series.md) |
| exact search over kernels and regularisation | the scores of `GridSearchCV` | `GridSearchCV` takes {fisher} (kernel Fisher) to {neighbors} (neighbours) times as long | [speed](docs/benchmarks_speed.md) |
| the tables of the four papers, recomputed | {agree} of {cells} published values agree ({percent} %; by chance {chance} %) | {conclusions} | [reproduction](docs/reproduction.md) |
"""  # noqa: E501
HEAD = "| task | mahalearn | others | details |\n|---|---|---|---|\n"


def write():
    """Put the rows into README.md."""
    before, rest = README.read_text(encoding="utf-8").split(HEAD)
    after = re.sub(r"\A(?:\|.*\n)+", "", rest)
    README.write_text(before + HEAD + ROWS.format(**figures()) + after, encoding="utf-8")


if __name__ == "__main__":
    import ranks

    write()
    ranks.write()
