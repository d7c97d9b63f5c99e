"""All experiments by id. A fifth paper is one more file of this kind and its name here."""

from . import paper_a, paper_b, paper_c, paper_d

PAPERS = {
    "A": "Kernel Mahalanobis distance classifiers",
    "B": "Support vector machines with Mahalanobis kernels",
    "C": "Kernel quadratic discriminants for definite and indefinite kernels",
    "D": "Feature weighted Mahalanobis distance",
}
EXPERIMENTS = {
    experiment.id: experiment
    for paper in (paper_a, paper_b, paper_c, paper_d)
    for experiment in paper.EXPERIMENTS
}
# Parts of a table that are measured apart from it.
TOGETHER = {"C5": ("C5", "C5s")}


def select(ids):
    """Experiments of the ids, in the order of the papers; none or "all" means all of them."""
    wanted = {name.lower() for name in ids} or {"all"}
    if unknown := sorted(wanted - {name.lower() for name in EXPERIMENTS} - {"all"}):
        raise ValueError(
            f"There is no experiment {', '.join(map(repr, unknown))}; there are "
            f"{', '.join(EXPERIMENTS)} and all."
        )
    for name, parts in TOGETHER.items():
        if name.lower() in wanted:
            wanted |= {part.lower() for part in parts}
    return [e for name, e in EXPERIMENTS.items() if "all" in wanted or name.lower() in wanted]
