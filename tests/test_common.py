"""scikit-learn's own checks, for every estimator in one list."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mahalearn import (
    GaussianClassifier,
    KernelMahalanobisTransformer,
    KernelQuadraticDiscriminant,
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
    "weights_from='train' refuses sample_weight, with a reason.",
)

ESTIMATORS = [
    (KernelQuadraticDiscriminant(), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant("IC-"), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant("FK+"), _NO_ERRORS_TO_WEIGH),
    (KernelQuadraticDiscriminant(offset="map"), _MAP_REFUSES),
    (KernelQuadraticDiscriminant(kernel="precomputed"), _NO_ERRORS_TO_WEIGH),
    (KernelMahalanobisTransformer(), {}),
    (GaussianClassifier(), {}),
    (GaussianClassifier("diag", pooled=True, feature_weights="descent"), {}),
    (GaussianClassifier(feature_weights="difference", missing="ignore"), {}),
    (GaussianClassifier("spherical", feature_weights="descent", weights_from="train"), _NO_WEIGHTS),
]


def _expected(estimator):
    for known, reasons in ESTIMATORS:
        if repr(known) == repr(estimator):
            return reasons
    return {}


@parametrize_with_checks([e for e, _ in ESTIMATORS], expected_failed_checks=_expected)
def test_sklearn_check(estimator, check):
    check(estimator)
