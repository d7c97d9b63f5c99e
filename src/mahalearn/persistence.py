"""Models in files that are safe to share: skops instead of pickle, and an explicit list of types.

Loading such a file builds objects of listed types from plain values; it never runs code from the
file. A file holds, beside the model, a text ``mahalearn.json`` that says what it is; that can be
read without building anything.
"""

import gc
import io
import json
import math
import types
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ._lazy import extra_module
from ._typing import File
from .results import versions, write_bytes

__all__ = ["UntrustedModelError", "load_model", "model_about", "save_model", "trusted_types"]

PACKAGE = __name__.partition(".")[0]
ABOUT = "mahalearn.json"
# Number of the format of model files: another one is refused before anything is built.
FORMAT = 4
SUFFIX = ".skops"
# Every type of ours that a fitted model may hold, and the module that defines it now. Files name
# types by their class alone, as in ``mahalearn.KernelQuadraticDiscriminant``, so that moving a
# module breaks no file; class names are therefore unique (tested). A test saves every estimator.
HOMES = {
    "TableEncoder": "table_encoder",
    "MeasureRows": "app.comparing.model",
    "TrainedModel": "app.comparing.model",
    "DistanceModel": "training.exact",
    "FittedGaussians": "classifiers.gaussian",
    "HeadsPath": "classifiers.dissimilarity_space",
    "LinearPath": "classifiers.kernel_classifier",
    "NeighborsPath": "classifiers.kernel_neighbors",
    "PCAPath": "classifiers.kernel_pca",
    "QuadraticPath": "classifiers.kernel_quadratic",
    "SVCPath": "classifiers.one_vs_rest_svm",
    "LandmarkDistances": "training.landmark",
    "LandmarkPlan": "training.landmark",
    "LandmarkTraining": "training.landmark",
    "RowSample": "training.sample",
    "SparseRows": "_sparse",
    "BoostedTrees": "classifiers.boosted_trees",
    "DissimilaritySpaceDiscriminant": "classifiers.dissimilarity_space",
    "GaussianHead": "classifiers.dissimilarity_space",
    "LeastSquaresHead": "classifiers.dissimilarity_space",
    "GaussianClassifier": "classifiers.gaussian",
    "GaussianOptions": "classifiers.gaussian",
    "KernelFisherDiscriminant": "classifiers.kernel_fisher",
    "KernelMahalanobisTransformer": "classifiers.kernel_quadratic",
    "KernelKNeighborsClassifier": "classifiers.kernel_neighbors",
    "KernelPCAQuadraticDiscriminant": "classifiers.kernel_pca",
    "KernelQuadraticDiscriminant": "classifiers.kernel_quadratic",
    "KernelRidgeClassifier": "classifiers.kernel_ridge",
    "RecursiveFeatureMachine": "classifiers.learned_metric",
    "OneVsRestSVC": "classifiers.one_vs_rest_svm",
    "MahalanobisSVC": "classifiers.svm",
    "_Machine": "classifiers.svm",
    "RowCovariances": "formulas.class_covariances",
    "ClassGaussians": "formulas.class_gaussians",
    "Rotated": "formulas.class_gaussians",
    "Spiked": "formulas.class_gaussians",
    "ClassMetrics": "formulas.class_metrics",
    "Histogram": "formulas.class_metrics",
    "RelativeMetric": "formulas.class_metrics",
    "SharedMetric": "formulas.class_metrics",
    "DifferenceWeights": "formulas.feature_weights",
    "Weighting": "formulas.feature_weights",
    "FullKernelClass": "formulas.full_kernel",
    "FullKernelModel": "formulas.full_kernel",
    "Centering": "formulas.linalg",
    "LinearScores": "formulas.linalg",
    "ConformalClass": "formulas.conformal",
    "ReferenceClass": "formulas.conformal",
    "CholeskyModel": "formulas.kernel_mahalanobis",
    "MeanModel": "formulas.kernel_mahalanobis",
    "SpectralModel": "formulas.kernel_mahalanobis",
    "Embedding": "formulas.kernel_pca",
    "GaussianClass": "formulas.kernel_pca",
    "FeatureEmbedding": "formulas.feature_space",
    "MetricRidge": "formulas.learned_metric",
    "QuadraticForm": "formulas.quadratic_form",
    "LandmarkFeatures": "formulas.feature_space",
    "Moments": "formulas.moments",
    "SpectrumCorrection": "formulas.spectrum",
    "Calibration": "formulas.stacking",
    "Trees": "formulas.trees",
    "Whitening": "formulas.whitening",
    "LandmarkKernel": "kernels.landmarks",
    "LandmarkMap": "kernels.landmarks",
    "MahalanobisKernel": "kernels.mahalanobis_kernel",
    "PrecomputedKernel": "kernels.precomputed",
    "MeasureKernel": "kernels.measure",
    "NamedKernel": "kernels.protocol",
    "ProximityKernel": "kernels.proximity_kernel",
    "CorrectedKernel": "training.exact",
    "TrainingKernel": "training.exact",
    "Alignment": "measures.alignment",
    "Compression": "measures.compression",
    "Convolution": "measures.convolution",
    "Correlation": "measures.correlation",
    "JensenShannon": "measures.distributions",
    "Wasserstein": "measures.distributions",
    "EditDistance": "measures.edit",
    "Elastic": "measures.elastic",
    "Gower": "measures.gower",
    "Hausdorff": "measures.hausdorff",
    "Jaccard": "measures.sets",
    "SPDDistance": "measures.spd",
    "Explanation": "model_selection.explain",
    "Multiple": "model_selection.grid",
    "KernelSearchCV": "model_selection.search",
    "MahalanobisClassifierCV": "model_selection.ensemble",
    "CrossConformal": "novelty._folds",
    "CrossFold": "novelty._folds",
    "FullConformal": "novelty._full",
    "References": "novelty._full",
    "ConformalClassifier": "novelty.classifier",
    "KernelMahalanobisNovelty": "novelty.detector",
    "Collected": "novelty._stream",
    "KeptRows": "novelty._stream",
    "RowBuffer": "novelty._stream",
    "RowStream": "novelty._stream",
    "Fitted": "novelty.mahalanobis",
    "FittedClasses": "novelty.mahalanobis",
    "Limits": "novelty.mahalanobis",
    "MahalanobisNovelty": "novelty.mahalanobis",
    "PseudoEuclideanEmbedding": "proximity.embedding",
}
# numpy's masked arrays (in tables of search results) changed their module between versions.
MASKED_HOMES = ("numpy.ma", "numpy.ma.core")
# Types of other packages that a fitted model may hold.
FOREIGN = (
    "scipy.sparse._csr.csr_matrix",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    # Gradient boosting: older versions of skops trust only some of its parts.
    "_loss.CyHalfBinomialLoss",
    "_loss.CyHalfMultinomialLoss",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.StratifiedKFold",
    # Random forests; skops 0.16 and later do not trust it by themselves (see SECURITY.md).
    "sklearn.tree._tree.Tree",
    # Splitters of scikit-learn before 1.8 carry these; they hold names and flags only.
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
SCHEMA = "schema.json"
# Levels of lists and dicts within each other in what a file says about itself.
DEEPEST = 20
# A file may unpack to so many bytes, or to so many times its size.
MOST_BYTES, MOST_RATIO = 2**28, 100
# A text takes up to 25 times its size when it is parsed. Small ones may have any ratio (that of
# forests is near 60); what a file says about itself may have so many bytes.
SMALL_TEXT, MOST_ABOUT = 2**20, 2**25
# Parameters of scikit-learn's estimators that open files, and the value with which they do not.
FILE_PARAMETERS = {"input": "content", "memory": None}
# What holds no estimator.
_LEAVES = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, str, bytes)


class UntrustedModelError(ValueError):
    """A model, or a file of one, holds types that are not known to be safe.

    Read more in the :doc:`user guide </deploy>`.

    See Also
    --------
    mahalearn.save_model : Save a model without pickle.
    mahalearn.load_model : Load a saved model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelQuadraticDiscriminant, save_model
    >>> from mahalearn.persistence import UntrustedModelError
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelQuadraticDiscriminant(kernel=lambda X, Y: X @ Y.T).fit(X, y)
    >>> try:
    ...     save_model(model, "iris.skops")
    ... except UntrustedModelError:
    ...     print("a lambda cannot be saved")
    a lambda cannot be saved
    """


def save_model(
    model: Any,
    path: File,
    *,
    about: dict[str, Any] | None = None,
    trusted: Sequence[str] = (),
    overwrite: bool = False,
) -> Path:
    """Save a fitted model in one step: the file is written completely or not at all.

    Read more in the :doc:`user guide </deploy>`.

    Parameters
    ----------
    model : estimator
        A fitted estimator of mahalearn or scikit-learn, also a pipeline of them.
    path : str or path
        File to write; its name should end with .skops.
    about : dict, default=None
        Plain values to keep with it; the estimator, its classes and columns, versions and the
        time are added.
    trusted : sequence of str, default=()
        Full names of types of your own that may be in it; whoever loads it must name them too.
    overwrite : bool, default=False
        Whether an existing file may be replaced.

    Returns
    -------
    path : Path
        The file.

    See Also
    --------
    load_model : Read a model file.
    model_about : Describe a model file.

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
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name, or overwrite=True.")
    write_bytes(path, model_bytes(model, about=about, trusted=trusted))
    return path


def model_bytes(model, *, about=None, trusted=()):
    """The contents of a model file, as :func:`save_model` writes it.

    Parameters
    ----------
    model, about, trusted
        As in :func:`save_model`.

    Returns
    -------
    data : bytes
        What the file holds.
    """
    sio = _skops()
    try:
        data = sio.dumps(model)
    except Exception as error:
        raise UntrustedModelError(
            f"The model cannot be saved without pickle ({type(error).__name__}: "
            f"{str(error)[:200]}). Functions, lambdas, open files and data frames of training "
            "objects are the usual reasons; use named kernels and measures, and X.to_numpy(object)."
        ) from None
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
    if reason := _opens_files(model, trusted):
        raise UntrustedModelError(f"The model holds {reason}.")
    about = {**_facts(model), **(about or {}), "format": FORMAT, "versions": versions()}
    about["saved"] = datetime.now(UTC).isoformat("T")
    text = json.dumps(about, ensure_ascii=False, indent=1, default=_plain)
    schema, members = _unpacked(data)
    _rename_types(schema, lambda module, name: PACKAGE)
    data = _packed(schema, {**_compact(schema, members), ABOUT: text})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _refuse_bomb(archive, "the file")
    return data


def load_model(path: File, *, trusted: Sequence[str] = ()) -> Any:
    """Load a model that :func:`save_model` wrote.

    Read more in the :doc:`user guide </deploy>`.

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

    See Also
    --------
    save_model : Write a model without pickle.
    model_about : Describe a model file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import GaussianClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(GaussianClassifier().fit(X, y), folder + "/iris.skops")
    ...     model = load_model(path)
    >>> model.predict(X[:3]).tolist()
    [0, 0, 0]
    """
    sio = _skops()
    path = Path(path)
    about = model_about(path)
    try:
        schema, members = _unpacked(path.read_bytes())
        _rename_types(schema, _home)
        data = _packed(schema, members)
        types_ = sio.get_untrusted_types(data=data)
    except MemoryError:
        raise _too_large(path) from None
    except Exception:
        raise _not_a_model(path) from None
    unknown = _unknown(types_, trusted)
    if unknown:
        raise UntrustedModelError(
            f"{str(path)!r} holds types that are not known to be safe, and was not loaded: "
            f"{', '.join(unknown)}."
        )
    _check_format(path, about)
    _compare_versions(about.get("versions", {}))
    try:
        model = sio.loads(data, trusted=list(types_))
    except MemoryError:
        raise _too_large(path) from None
    except Exception as error:
        raise UntrustedModelError(
            f"{str(path)!r} cannot be loaded: the file is damaged, or was saved by a version that "
            f"this one does not know ({type(error).__name__}: {str(error)[:200]})."
        ) from None
    if reason := _opens_files(model, trusted):
        raise UntrustedModelError(f"{str(path)!r} was not loaded: it holds {reason}.")
    return model


def trusted_types() -> list[str]:
    """Full names of the types that a model of this library may hold, all of them safe to load.

    They are what ``skops.io.load(file, trusted=...)`` and tools that save models by skops, such as
    mlflow, ask for. :func:`load_model` trusts them by default.

    Read more in the :doc:`user guide </deploy>`.

    Returns
    -------
    types : list of str
        Sorted.

    See Also
    --------
    load_model : Load a saved model.
    save_model : Save a model without pickle.

    Examples
    --------
    >>> from mahalearn import trusted_types
    >>> "mahalearn.classifiers.gaussian.GaussianClassifier" in trusted_types()
    True
    """
    return sorted({*(f"{PACKAGE}.{module}.{name}" for name, module in HOMES.items()), *FOREIGN})


def model_about(path: File) -> dict[str, Any]:
    """Description of a model file, read without building the model.

    Read more in the :doc:`user guide </deploy>`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    about : dict
        Plain values; {} where the file has none.

    See Also
    --------
    load_model : Read a model file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import GaussianClassifier, model_about, save_model
    >>> model = GaussianClassifier().fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, folder + "/iris.skops", about={"sensor": "B"})
    ...     about = model_about(path)
    >>> about["sensor"], "mahalearn" in about["versions"]
    ('B', True)
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_bomb(archive, path)
            # A damaged length makes the next member's entry a comment on this one.
            if any(info.comment for info in archive.infolist()):
                raise _not_a_model(path)
            about = json.loads(archive.read(ABOUT)) if ABOUT in archive.namelist() else {}
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    except UntrustedModelError:
        raise
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError):
        raise _not_a_model(path) from None
    well_formed = isinstance(about, dict) and not _deeper(about, DEEPEST)
    then = about.get("versions", {}) if well_formed else None
    if not isinstance(then, dict) or not all(isinstance(v, str) for v in then.values()):
        raise _not_a_model(path)
    return about


def _deeper(value, levels):
    """True if lists and dicts are nested deeper than `levels`."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper(v, levels - 1) for v in inner)


def _refuse_bomb(archive, path):
    """Refuse a file that unpacks to far more than a model of its size does."""
    members = archive.infolist()
    size = sum(info.file_size for info in members)
    packed = sum(info.compress_size for info in members)
    bombs = [
        (info.filename == ABOUT and info.file_size > MOST_ABOUT)
        or info.file_size > max(SMALL_TEXT, MOST_RATIO * info.compress_size)
        for info in members
        if info.filename in (ABOUT, SCHEMA)
    ]
    if any(bombs) or (size > MOST_BYTES and size > MOST_RATIO * packed):
        raise UntrustedModelError(
            f"{str(path)!r} would unpack to {size / 2**20:.0f} MB, far more than models of its "
            "size do; it is refused."
        )


def _not_a_model(path):
    return UntrustedModelError(
        f"{str(path)!r} is not a model file of mahalearn; mahalearn train makes one."
    )


def _too_large(path):
    return MemoryError(f"There is not enough memory for the model in {str(path)!r}.")


def _opens_files(model, trusted):
    """Name the first estimator within a model whose parameters let it open files.

    Estimators may stand anywhere in what a file builds: in lists, in attributes, in arrays of
    objects, twice.
    """
    seen, stack = {}, [model]
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, _LEAVES):
            continue
        seen[id(value)] = value
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            stack += np.asarray(value).tolist()  # arrays do not show the collector what they hold
        kind = type(value)
        if isinstance(value, BaseEstimator) and f"{kind.__module__}.{kind.__name__}" not in trusted:
            for name, harmless in FILE_PARAMETERS.items():
                if (option := vars(value).get(name, harmless)) != harmless:
                    return (
                        f"{kind.__name__}({name}={option!r}), which opens files; set {name} to "
                        f"{harmless!r}"
                    )
        stack += gc.get_referents(value)
    return None


def _home(module, name):
    """The module that defines a type of ours now."""
    return f"{PACKAGE}.{HOMES[name]}" if name in HOMES else module


def _unpacked(data):
    """The schema of an archive, and its other members {name: bytes}, arrays checked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members.pop(SCHEMA))
    for content in members.values():
        _check_array(content)
    return schema, members


def _packed(schema, members):
    """The archive of a schema and further members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {SCHEMA: json.dumps(schema), **members}.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _nodes(schema):
    """Every dict within a schema."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack += node.values()
        elif isinstance(node, list):
            stack += node


def _compact(schema, members):
    """Members with equal arrays in one file; the schema gets short numbers instead of addresses.

    skops tells objects apart by their memory addresses and names files by them: digits that cannot
    be compressed, in a model of many small parts as much as the parts themselves.
    """
    ids, stored, files = {}, {}, {}
    for name, content in members.items():
        suffix = Path(name).suffix
        files[name] = stored.setdefault((suffix, content), f"{len(stored)}{suffix}")
    for node in _nodes(schema):
        if isinstance(node.get("__id__"), int):
            node["__id__"] = ids.setdefault(node["__id__"], len(ids) + 1)
        if isinstance(node.get("file"), str):
            node["file"] = files.get(node["file"], node["file"])
    return {name: content for (_, content), name in stored.items()}


def _rename_types(schema, module_of):
    """Replace the modules of our types, and of numpy's that changed between versions, in place.

    module_of(module, name) gives the module to write for a type of this package.
    """
    for node in _nodes(schema):
        module, name = str(node.get("__module__")), node.get("__class__")
        if module in MASKED_HOMES and name == "MaskedArray":
            node["__module__"] = np.ma.MaskedArray.__module__
        if module == "numpy" and name in ("bool", "bool_"):
            node["__class__"] = np.bool_.__name__
        if module.partition(".")[0] == PACKAGE:
            node["__module__"] = module_of(module, name)


def _check_array(content):
    """Refuse an array whose header asks for other memory than its bytes fill."""
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        return
    file, form = io.BytesIO(content), np.lib.format
    first = form.read_magic(file) == (1, 0)
    shape, _, dtype = (form.read_array_header_1_0 if first else form.read_array_header_2_0)(file)
    if math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError("an array is longer or shorter than its header says")


def _check_format(path, about):
    """Refuse a file of ours in another format; files by skops alone have none."""
    saved_by = about.get("versions", {}).get("mahalearn")
    if saved_by is not None and about.get("format") != FORMAT:
        raise UntrustedModelError(
            f"{str(path)!r} has the format of mahalearn {saved_by}, which this version does not "
            "read. Train the model again, or load it with that version."
        )


def _facts(model):
    """Name, classes and columns of an estimator, as far as it has them."""
    names = [type(step).__name__ for _, step in getattr(model, "steps", ())]
    facts = {"estimator": " → ".join(names) or type(model).__name__}
    classes = np.asarray(getattr(model, "classes_", []))
    if classes.size:
        facts["classes"] = [str(label) for label in classes.ravel().tolist()]
    columns = getattr(model, "feature_names_in_", getattr(model, "n_features_in_", None))
    if columns is not None:
        facts["columns"] = list(map(str, columns)) if np.ndim(columns) else int(columns)
    return facts


def _skops():
    return extra_module("skops.io", "Saving models needs skops", "cli")


def _unknown(types_, trusted):
    return sorted(set(types_).difference(trusted_types(), trusted))


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
