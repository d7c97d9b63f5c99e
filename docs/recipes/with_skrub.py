"""skrub: a frame with dates and categories, encoded by skrub."""

import numpy as np
import pandas as pd
from skrub import tabular_pipeline

from mahalearn import KernelFisherDiscriminant

rng = np.random.default_rng(0)
dose = rng.normal(size=120)
solvent = rng.choice(["water", "oil", "ether"], 120)
day = pd.Timestamp("2026-01-01") + pd.to_timedelta(
    rng.integers(0, 300, 120), unit="D"
)
frame = pd.DataFrame({"dose": dose, "solvent": solvent, "day": day})
y = np.where(dose + (solvent == "oil") > 0.3, "active", "inactive")
model = tabular_pipeline(KernelFisherDiscriminant(reg=0.1)).fit(
    frame[::2], y[::2]
)
assert model.score(frame[1::2], y[1::2]) > 0.8
