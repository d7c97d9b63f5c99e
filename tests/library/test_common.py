"""scikit-learn's own checks, for every estimator in one list."""

from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mahalearn import (
    ConformalClassifier,
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisNovelty,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisNovelty,
    MahalanobisSVC,
    OneVsRestSVC,
    ProximityKernel,
    PseudoEuclideanEmbedding,
    RecursiveFeatureMachine,
    TableEncoder,
)

# Expected failures: estimator -> {check: reason}.
_NO_ERRORS_TO_WEIGH = {
    "check_class_weight_classifiers": (
        "class_weight weighs the training errors that the offsets minimise; on the check's data "
        "there are none, so the weights have nothing to trade."
    )
}
_MAP_REFUSES = {
    "check_class_weight_classifiers": "offset='map' refuses class_weight: priors do that job."
}
_CHECK_FORGETS_PAIRWISE = {
    "check_decision_proba_consistency": "the check passes an (80, 2) table to a pairwise estimator."
}
_NO_BATCHES_OF_A_MATRIX = dict.fromkeys(
    ["check_estimators_partial_fit_n_features", "check_n_features_in_after_fitting"],
    "partial_fit of a precomputed kernel needs the positions of the landmarks.",
)
_NO_WEIGHTS = dict.fromkeys(
    [
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_all_zero_sample_weights_error",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_classifiers_one_label_sample_weights",
    ],
    "shrinkage='auto' refuses sample_weight, with a reason.",
)
_NO_WEIGHTS_AT_LANDMARKS = dict.fromkeys(
    [*_NO_WEIGHTS, "check_sample_weight_equivalence_on_sparse_data"],
    "sample_weight is refused at landmarks, with a reason.",
)
_CHECKS_FORGET_PAIRWISE = dict.fromkeys(
    ("check_outliers_fit_predict", "check_outliers_train"),
    "the check passes a (300, 2) table to a pairwise estimator.",
)
_LEAVE_ONE_OUT = {
    "check_outliers_fit_predict": (
        "fit_predict judges each row without itself; predict takes the same row for a new one."
    ),
}
_CALIBRATED_ON_ALL_ROWS = _LEAVE_ONE_OUT | {
    "check_fit_score_takes_y": (
        "partial_fit after fit is refused: the limits of the rows of fit would be out of date."
    ),
}
_NO_LEAVE_ONE_OUT = dict.fromkeys(
    _CALIBRATED_ON_ALL_ROWS, "fit_predict needs leave-one-out ranks, and says so."
)

_WEIGHTED_AS_REPEATED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_FAMILIES_WITHOUT_WEIGHTS = dict.fromkeys(
    _WEIGHTED_AS_REPEATED,
    "The kernel families ignore weights, which a warning says, and the folds are others where "
    "objects are repeated.",
)
_LEFT_OUT_WITH_ITS_WEIGHT = dict.fromkeys(
    _WEIGHTED_AS_REPEATED,
    "Decisions are equal (test_weights.py). The temperature is of objects left out with all their "
    "weight; a copy that is left out would leave its other copies in.",
)
_PAIRWISE_CHOOSER = {
    **_CHECK_FORGETS_PAIRWISE,
    "check_classifiers_one_label_sample_weights": "The check passes a table to a pairwise method.",
    "check_sample_weight_equivalence_on_dense_data": "As above.",
}

ESTIMATORS = [
    (KernelQuadraticDiscriminant(), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant("IC-"), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant("FK+"), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant(offset="map"), _MAP_REFUSES),
    (
        KernelQuadraticDiscriminant(kernel="precomputed"),
        {**_NO_ERRORS_TO_WEIGH, **_CHECK_FORGETS_PAIRWISE},
    ),
    (KernelQuadraticDiscriminant(spectrum="flip"), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant(landmarks=10, random_state=0), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant("IC+", landmarks="auto", random_state=0), _NO_ERRORS_TO_WEIGH),
    (
        KernelQuadraticDiscriminant(kernel="precomputed", landmarks=10, random_state=0),
        _NO_BATCHES_OF_A_MATRIX,
    ),
    (DissimilaritySpaceDiscriminant(landmarks=10, random_state=0), {}),
    (KernelFisherDiscriminant(landmarks=10, random_state=0), _NO_WEIGHTS_AT_LANDMARKS),
    (KernelPCAQuadraticDiscriminant(landmarks=10, random_state=0), {}),
    (KernelMahalanobisTransformer(), {}),
    (KernelMahalanobisTransformer(spectrum="shift"), {}),
    (DissimilaritySpaceDiscriminant(), {}),
    (DissimilaritySpaceDiscriminant("quadratic", cv=5, random_state=0), {}),
    (KernelFisherDiscriminant(), {}),
    (KernelFisherDiscriminant(kernel="precomputed", spectrum="clip"), {}),
    (KernelKNeighborsClassifier(), {}),
    (KernelKNeighborsClassifier(weights="distance"), {}),
    (KernelPCAQuadraticDiscriminant(), {}),
    (KernelPCAQuadraticDiscriminant(kernel="precomputed"), _CHECK_FORGETS_PAIRWISE),
    (LandmarkMap(5, random_state=0), {}),
    (LandmarkMap("auto", method="rpcholesky", random_state=0), {}),
    (LandmarkMap(5, kernel="precomputed", random_state=0), {}),
    (KernelRidgeClassifier(), _LEFT_OUT_WITH_ITS_WEIGHT),
    (KernelRidgeClassifier(kernel="precomputed", spectrum="flip"), _CHECK_FORGETS_PAIRWISE),
    (RecursiveFeatureMachine(), {}),
    (OneVsRestSVC(tol=1e-9), {}),
    (PseudoEuclideanEmbedding(kernel="rbf"), {}),
    (PseudoEuclideanEmbedding(3), {}),
    (ProximityKernel(), {}),
    (TableEncoder(), {}),
    (ProximityKernel("similarity"), {}),
    (
        KernelSearchCV(KernelQuadraticDiscriminant(), {"gamma": [0.3], "reg": [0.1, 1.0]}, cv=3),
        _NO_ERRORS_TO_WEIGH,
    ),
    (
        KernelSearchCV(
            KernelQuadraticDiscriminant(landmarks=10, random_state=0),
            {"gamma": [0.3], "reg": [0.1, 1.0]},
            cv=3,
        ),
        _NO_ERRORS_TO_WEIGH,
    ),
    (
        KernelSearchCV(DissimilaritySpaceDiscriminant(), {"gamma": [0.3], "reg": [0.1, 1.0]}, cv=3),
        {},
    ),
    (
        KernelSearchCV(KernelFisherDiscriminant(), {"reg": [0.1, 1.0], "gamma": [0.3]}, cv=3),
        {},
    ),
    (
        KernelSearchCV(KernelPCAQuadraticDiscriminant(), {"reg": [0.1, 1.0], "gamma": [0.3]}, cv=3),
        {},
    ),
    (
        KernelSearchCV(KernelKNeighborsClassifier(), {"n_neighbors": [1, 2], "gamma": [0.3]}, cv=3),
        {},
    ),
    (
        KernelSearchCV(KernelRidgeClassifier(), {"reg": [0.01, 1.0], "gamma": [0.3]}, cv=3),
        {},
    ),
    (MahalanobisSVC(tol=1e-9), {}),
    (MahalanobisSVC(covariance="full", covariance_from="all", tol=1e-9), {}),
    (
        KernelSearchCV(MahalanobisSVC(), {"C": [0.1, 1], "delta": [0.5, 1]}, cv=3),
        {},
    ),
    (
        MahalanobisClassifierCV(("kernel_fisher",), cv=StratifiedKFold(2)),
        _FAMILIES_WITHOUT_WEIGHTS,
    ),
    (
        MahalanobisClassifierCV(("kqd",), kernel="precomputed", cv=StratifiedKFold(2)),
        _PAIRWISE_CHOOSER,
    ),
    (KernelMahalanobisNovelty(), _LEAVE_ONE_OUT),
    (KernelMahalanobisNovelty("IC+", cv=3), _LEAVE_ONE_OUT),
    (KernelMahalanobisNovelty(normalize=True), _LEAVE_ONE_OUT),
    # RC+ needs k(x, x) of queries, which rows of the checks' linear kernel do not hold.
    (KernelMahalanobisNovelty("other-classes", kernel="precomputed"), _CHECKS_FORGET_PAIRWISE),
    (MahalanobisNovelty(normalize=False), _CALIBRATED_ON_ALL_ROWS),
    (MahalanobisNovelty("shared", normalize=True), _CALIBRATED_ON_ALL_ROWS),
    (MahalanobisNovelty(calibration="reservoir"), _NO_LEAVE_ONE_OUT),
    (MahalanobisNovelty(calibration="split"), _NO_LEAVE_ONE_OUT),
    (ConformalClassifier(KernelQuadraticDiscriminant()), {}),
    (ConformalClassifier(KernelQuadraticDiscriminant(kernel="precomputed")), {}),
    (ConformalClassifier(GaussianClassifier(), "cross", cv=3), {}),
    (ConformalClassifier(GaussianClassifier(), "split"), {}),
    (GaussianClassifier(), {}),
    (GaussianClassifier("diag", pooled=True, feature_weights="descent"), {}),
    (GaussianClassifier(feature_weights="difference", missing="ignore"), {}),
    (GaussianClassifier("spherical", feature_weights="descent", shrinkage="auto"), _NO_WEIGHTS),
]


def _expected(estimator):
    for known, reasons in ESTIMATORS:
        if repr(known) == repr(estimator):
            return reasons
    return {}


@parametrize_with_checks([e for e, _ in ESTIMATORS], expected_failed_checks=_expected)
def test_sklearn_check(estimator, check):
    check(estimator)
