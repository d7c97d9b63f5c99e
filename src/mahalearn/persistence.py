"""Models in files that are safe to share: skops instead of pickle, and an explicit list of types.

Loading such a file builds objects of listed types from plain values; it never runs code from the
file. A file holds, beside the model, a text ``mahalearn.json`` that says what it is; that can be
read without building anything.
"""

import io
import json
import warnings
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from .results import versions, write_bytes

ABOUT = "mahalearn.json"
SUFFIX = ".skops"
# Every type of ours that a fitted model may hold. A test saves every estimator of the library.
TRUSTED = (
    "mahalearn._mahalanobis_kernel.MahalanobisKernel",
    "mahalearn._training.CorrectedKernel",
    "mahalearn._training.TrainingKernel",
    "mahalearn.classifiers._distances.DistanceModel",
    "mahalearn.classifiers._gaussian_fit.FittedGaussians",
    "mahalearn.classifiers._gaussian_model.GaussianModel",
    "mahalearn.classifiers.dissimilarity_space.DissimilaritySpaceDiscriminant",
    "mahalearn.classifiers.dissimilarity_space.GaussianHead",
    "mahalearn.classifiers.gaussian.GaussianClassifier",
    "mahalearn.classifiers.kernel_fisher.KernelFisherDiscriminant",
    "mahalearn.classifiers.kernel_mahalanobis.KernelMahalanobisTransformer",
    "mahalearn.classifiers.kernel_neighbors.KernelKNeighborsClassifier",
    "mahalearn.classifiers.kernel_pca.KernelPCAQuadraticDiscriminant",
    "mahalearn.classifiers.kernel_quadratic.KernelQuadraticDiscriminant",
    "mahalearn.classifiers.one_vs_all_svm.OneVsAllSVC",
    "mahalearn.classifiers.svm.MahalanobisSVC",
    "mahalearn.classifiers.svm._Machine",
    "mahalearn.comparison.encoder.TableEncoder",
    "mahalearn.comparison.model.MeasureRows",
    "mahalearn.comparison.model.TrainedModel",
    "mahalearn.formulas.class_gaussians.ClassGaussians",
    "mahalearn.formulas.feature_weights.DifferenceWeights",
    "mahalearn.formulas.feature_weights.Weighting",
    "mahalearn.formulas.full_kernel.FullKernelClass",
    "mahalearn.formulas.full_kernel.FullKernelModel",
    "mahalearn.formulas.gram.Centering",
    "mahalearn.formulas.kernel_fisher.FisherModel",
    "mahalearn.formulas.kernel_mahalanobis.CholeskyModel",
    "mahalearn.formulas.kernel_mahalanobis.MeanModel",
    "mahalearn.formulas.kernel_mahalanobis.SpectralModel",
    "mahalearn.formulas.kernel_pca.Embedding",
    "mahalearn.formulas.kernel_pca.GaussianClass",
    "mahalearn.formulas.moments.Moments",
    "mahalearn.formulas.spectrum.SpectrumCorrection",
    "mahalearn.formulas.whitening.Whitening",
    "mahalearn.kernels.MeasureKernel",
    "mahalearn.kernels.NamedKernel",
    "mahalearn.kernels.PrecomputedKernel",
    "mahalearn.measures.compression.Compression",
    "mahalearn.measures.correlation.Correlation",
    "mahalearn.measures.edit.EditDistance",
    "mahalearn.measures.gower.Gower",
    "mahalearn.measures.hausdorff.Hausdorff",
    "mahalearn.model_selection.chooser.MahalanobisClassifierCV",
    "mahalearn.model_selection.distance_search.DissimilaritySpaceDiscriminantCV",
    "mahalearn.model_selection.distance_search.KernelQuadraticDiscriminantCV",
    "mahalearn.model_selection.kernel_search.KernelFisherDiscriminantCV",
    "mahalearn.model_selection.kernel_search.KernelKNeighborsClassifierCV",
    "mahalearn.model_selection.kernel_search.KernelPCAQuadraticDiscriminantCV",
    "mahalearn.model_selection.line_search.MahalanobisSVCCV",
    "mahalearn.proximity.embedding.PseudoEuclideanEmbedding",
    "mahalearn.proximity.transform.ProximityKernel",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.StratifiedKFold",
    # Splitters of scikit-learn before 1.8 carry these; they hold names and flags only.
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)


class UntrustedModelError(ValueError):
    """A model, or a file of one, holds types that are not known to be safe."""


def save_model(model, path, *, about=None, trusted=(), overwrite=False):
    """Save a fitted model in one step: the file is there as a whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of mahalearn or scikit-learn, also a pipeline of them.
    path : str or path
        File to write; its name should end with .skops.
    about : dict, default=None
        Plain values to keep with it; versions and the time are added.
    trusted : sequence of str, default=()
        Full names of types of your own that may be in it; whoever loads it must name them too.
    overwrite : bool, default=False
        Whether an existing file may be replaced.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelQuadraticDiscriminant, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelQuadraticDiscriminant().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, folder + "/iris.skops")
    ...     again = load_model(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    sio = _skops()
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name, or overwrite=True.")
    try:
        data = sio.dumps(model)
    except Exception as error:
        raise UntrustedModelError(_cannot_save(type(error).__name__, error)) from None
    unknown = _unknown(sio.get_untrusted_types(data=data), trusted)
    functions = [name for name in unknown if "<lambda>" in name or "<locals>" in name]
    if functions:
        raise UntrustedModelError(
            f"The model holds {', '.join(functions)}: a function without a name of its own cannot "
            "be found again when the model is loaded. Use a named kernel or measure, or a class in "
            "a module that you list in trusted=."
        )
    if unknown:
        raise UntrustedModelError(
            f"The model holds types that are not known to be safe: {', '.join(unknown)}. If they "
            "are yours, name them in trusted=, when saving and when loading."
        )
    about = {**(about or {}), "versions": versions(), "saved": datetime.now(UTC).isoformat("T")}
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, json.dumps(about, ensure_ascii=False, indent=1, default=_plain))
    write_bytes(path, buffer.getvalue())
    return path


def load_model(path, *, trusted=()):
    """Load a model that :func:`save_model` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : sequence of str, default=()
        Full names of further types to trust.

    Returns
    -------
    model : estimator
        The model. Types that nobody named are listed in an UntrustedModelError, and nothing is
        built.
    """
    sio = _skops()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        found = sio.get_untrusted_types(file=path)
    except Exception:
        raise UntrustedModelError(
            f"{str(path)!r} is not a model file of mahalearn; mahalearn train makes one."
        ) from None
    unknown = _unknown(found, trusted)
    if unknown:
        raise UntrustedModelError(
            f"{str(path)!r} holds types that are not known to be safe, and was not loaded: "
            f"{', '.join(unknown)}."
        )
    _compare_versions(model_about(path).get("versions", {}))
    return sio.load(path, trusted=list(found))


def model_about(path):
    """What a model file says about itself; nothing is built.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    about : dict
        Plain values; {} where the file has none.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read(ABOUT)) if ABOUT in archive.namelist() else {}
        if not isinstance(about, dict) or not isinstance(about.get("versions", {}), dict):
            raise ValueError(f"{ABOUT} holds something else")
        return about
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    except (OSError, ValueError, zipfile.BadZipFile):
        raise UntrustedModelError(
            f"{str(path)!r} is not a model file of mahalearn; mahalearn train makes one."
        ) from None


def _skops():
    try:
        import skops.io
    except ImportError:
        raise ImportError('Saving models needs skops: pip install "mahalearn[cli]".') from None
    return skops.io


def _unknown(found, trusted):
    return sorted(set(found) - set(TRUSTED) - set(trusted))


def _cannot_save(kind, error):
    return (
        f"The model cannot be saved without pickle ({kind}: {str(error)[:200]}). Functions, "
        "lambdas and open files are the usual reason; use named kernels and measures."
    )


def _compare_versions(then):
    now = versions()
    changed = [
        f"{name} {then[name]} then, {now[name]} now"
        for name in ("mahalearn", "scikit-learn")
        if name in then and str(then[name]).split(".")[:2] != now[name].split(".")[:2]
    ]
    if changed:
        warnings.warn(
            f"The model was saved with other versions: {'; '.join(changed)}. Predictions may "
            "differ; train it again to be sure.",
            UserWarning,
            stacklevel=3,
        )


def _plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"about holds numbers, text, lists and dicts; got {type(value).__name__}.")
