"""Model files: every estimator comes back the same, and nothing unknown is built."""

import inspect
import json
import os
import re
import shutil
import tracemalloc
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import all_estimators
from test_common import ESTIMATORS

from mahalearn import (
    KernelQuadraticDiscriminant,
    MeasureKernel,
    load_model,
    model_about,
    save_model,
)
from mahalearn.persistence import FILE_PARAMETERS, HOMES, UntrustedModelError

X, y = load_wine(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[::4], np.array(["a", "b", "ç"])[y[::4]]


@pytest.mark.parametrize("estimator", [e for e, _ in ESTIMATORS], ids=lambda e: repr(e)[:60])
def test_every_estimator_comes_back_the_same(estimator, tmp_path):
    model = clone(estimator)
    pairwise = model.__sklearn_tags__().input_tags.pairwise
    A = rbf_kernel(X) if pairwise else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(A, y)
        again = load_model(save_model(model, tmp_path / "m.skops"))
        for method in ("predict", "decision_function", "predict_proba", "transform", "mahalanobis"):
            if hasattr(model, method):
                assert_array_equal(getattr(again, method)(A), getattr(model, method)(A))
    assert again.get_params().keys() == model.get_params().keys()


def test_objects_kernels_and_pipelines_come_back(tmp_path):
    words, letters = ["ape", "apple", "apply", "oak", "soak", "oat"], list("aaaooo")
    for measure in ("edit", "compression"):
        model = KernelQuadraticDiscriminant(reg=1, kernel=MeasureKernel(measure)).fit(
            words, letters
        )
        again = load_model(save_model(model, tmp_path / f"{measure}.skops"))
        assert_array_equal(again.predict(["ample", "cloak"]), model.predict(["ample", "cloak"]))
    pipe = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    assert_array_equal(
        load_model(save_model(pipe, tmp_path / "p.skops")).predict(X), pipe.predict(X)
    )


@pytest.mark.parametrize("home", ["numpy.ma", "numpy.ma.core"])
def test_masked_arrays_of_older_and_newer_numpy_are_read(tmp_path, home):
    model = GridSearchCV(SVC(), {"C": [1, 10]}, cv=2).fit(X, y)
    path = save_model(model, tmp_path / "m.skops")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = parts["schema.json"].decode()
    now = json.dumps(np.ma.MaskedArray.__module__)
    assert '"MaskedArray"' in schema and now in schema
    parts["schema.json"] = schema.replace(now, json.dumps(home)).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert_array_equal(load_model(path).predict(X), model.predict(X))


def test_lambdas_and_functions_are_refused_at_saving(tmp_path):
    model = KernelQuadraticDiscriminant(kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(UntrustedModelError, match="lambda"):
        save_model(model, tmp_path / "m.skops")
    model = KernelQuadraticDiscriminant(kernel=rbf_kernel).fit(X, y)
    with pytest.raises(UntrustedModelError, match="not known to be safe"):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


class Mine(KernelQuadraticDiscriminant):
    """A type that is not on the list."""


def test_unknown_types_are_listed_and_not_built(tmp_path):
    import skops.io

    name = f"{__name__}.Mine"
    model = Mine().fit(X, y)
    with pytest.raises(UntrustedModelError, match="Mine"):
        save_model(model, tmp_path / "m.skops")
    skops.io.dump(model, tmp_path / "foreign.skops")
    with pytest.raises(UntrustedModelError, match=r"not loaded: .*Mine"):
        load_model(tmp_path / "foreign.skops")
    path = save_model(model, tmp_path / "m.skops", trusted=[name])
    assert isinstance(load_model(path, trusted=[name]), Mine)


def test_the_trusted_types_exist_and_are_no_functions():
    from importlib import import_module

    for name, module in HOMES.items():
        assert isinstance(getattr(import_module(f"mahalearn.{module}"), name), type), name


def test_files_say_what_they_are_and_are_not_overwritten(tmp_path):
    model = KernelQuadraticDiscriminant().fit(X, y)
    path = save_model(model, tmp_path / "m.skops", about={"kind": "vectors", "n": np.int64(3)})
    about = model_about(path)
    assert about["kind"] == "vectors" and about["n"] == 3
    assert {"mahalearn", "scikit-learn", "numpy"} <= about["versions"].keys()
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="exists"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.skops"]


def test_files_name_estimator_classes_and_columns(tmp_path):
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    about = model_about(save_model(model, tmp_path / "m.skops"))
    assert about["estimator"] == "StandardScaler → SVC"
    assert about["classes"] == ["a", "b", "ç"] and about["columns"] == X.shape[1]
    named = pd.DataFrame(X[:, :2], columns=["hue", "ash"])
    model = KernelQuadraticDiscriminant().fit(named, np.unique(y, return_inverse=True)[1])
    about = model_about(save_model(model, tmp_path / "n.skops", about={"columns": "mine"}))
    assert about["estimator"] == "KernelQuadraticDiscriminant"
    assert about["classes"] == ["0", "1", "2"] and about["columns"] == "mine"
    about = model_about(save_model(model, tmp_path / "k.skops"))
    assert about["columns"] == ["hue", "ash"]


def test_objects_in_a_data_frame_are_refused_with_a_remedy(tmp_path):
    table = pd.DataFrame({"hue": X[:, 0], "kind": np.where(X[:, 1] > 2, "dry", "wet")})
    model = KernelQuadraticDiscriminant(kernel=MeasureKernel("gower")).fit(table, y)
    with pytest.raises(UntrustedModelError, match=r"use named kernels .* X.to_numpy\(object\)"):
        save_model(model, tmp_path / "m.skops")
    path = save_model(model.fit(table.to_numpy(object), y), tmp_path / "m.skops")
    assert (
        load_model(path).predict(table.to_numpy(object)) == model.fit(table, y).predict(table)
    ).all()


TEXTS = ["a file", "another file", "a book", "another book"]


def file_openers():
    """Models of trusted types that would open files."""
    vectorizer = CountVectorizer().fit(TEXTS)
    vectorizer.input = "filename"  # as a file may say
    hidden = StandardScaler().fit(X)
    hidden.parts_ = np.array([{"deep": [vectorizer]}, None])
    cached = make_pipeline(StandardScaler(), SVC(), memory="cache").fit(X, y)
    shutil.rmtree("cache")
    return {
        "vectorizer": vectorizer,
        "tfidf": TfidfVectorizer(input="file"),
        "pipeline": make_pipeline(vectorizer, SVC()),
        "hidden": hidden,
        "cached": cached,
    }


@pytest.mark.parametrize("name", ["vectorizer", "tfidf", "pipeline", "hidden", "cached"])
def test_models_that_open_files_are_refused(tmp_path, monkeypatch, name):
    import skops.io

    monkeypatch.chdir(tmp_path)
    model = file_openers()[name]
    with pytest.raises(UntrustedModelError, match="which opens files"):
        save_model(model, "m.skops")
    skops.io.dump(model, "foreign.skops")
    with pytest.raises(UntrustedModelError, match="which opens files"):
        load_model("foreign.skops")
    assert sorted(os.listdir()) == ["foreign.skops"]


def test_only_trusted_estimators_open_files(tmp_path):
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(TEXTS, [0, 0, 1, 1])
    again = load_model(save_model(model, tmp_path / "m.skops"))
    assert_array_equal(again.predict(TEXTS), model.predict(TEXTS))
    model.memory = str(tmp_path)
    trusted = ["sklearn.pipeline.Pipeline"]
    save_model(model, tmp_path / "n.skops", trusted=trusted)
    assert load_model(tmp_path / "n.skops", trusted=trusted).memory == str(tmp_path)


def test_the_parameters_that_open_files_are_all_there():
    """Of scikit-learn's estimators no other opens files: those have a parameter of such a name."""
    words = re.compile("input|memory|file|path|cache|dir|home|url")
    harmless = {"cache_size", "fit_path", "input_type", "path_method", "transform_input"}
    harmless |= {"direction"}
    found = {
        parameter
        for _, estimator in all_estimators()
        for parameter in inspect.signature(estimator).parameters
        if words.search(parameter)
    }
    assert found - harmless == FILE_PARAMETERS.keys()


@pytest.mark.parametrize("part", ["mahalearn.json", "schema.json"])
def test_small_files_do_not_become_large_texts(tmp_path, part):
    path = save_model(KernelQuadraticDiscriminant().fit(X, y), tmp_path / "m.skops")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = b'{"a": [' + b",".join([b"[]"] * 3_000_000) + b"]}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    for function in (model_about, load_model):
        with pytest.raises(UntrustedModelError, match="would unpack to"):
            function(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.parametrize("length", ["2000000000", "2"])
def test_arrays_have_the_length_that_their_headers_say(tmp_path, length):
    path = save_model(KernelQuadraticDiscriminant().fit(X, y), tmp_path / "m.skops")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name, data in parts.items() if b"(3,)" in data[:100])
    parts[name] = parts[name].replace(b"(3,)", f"({length},)".encode(), 1)
    with zipfile.ZipFile(path, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    with pytest.raises(UntrustedModelError, match="not a model file"):
        load_model(path)


def test_no_part_of_a_damaged_file_is_lost(tmp_path):
    path = save_model(KernelQuadraticDiscriminant().fit(X, y), tmp_path / "m.skops")
    data = bytearray(path.read_bytes())
    last = data.rindex(b"PK\1\2")
    entry = data.rindex(b"PK\1\2", 0, last)
    data[entry + 32] = 46 + len("mahalearn.json")  # the length of its comment
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive:
        assert "mahalearn.json" not in archive.namelist()
    for function in (load_model, model_about):
        with pytest.raises(UntrustedModelError, match="not a model file"):
            function(path)


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    import skops.io

    def fails(*_, **__):
        raise MemoryError

    path = save_model(KernelQuadraticDiscriminant().fit(X, y), tmp_path / "m.skops")
    for name in ("get_untrusted_types", "loads"):
        with monkeypatch.context() as patch:
            patch.setattr(skops.io, name, fails)
            with pytest.raises(MemoryError, match="not enough memory for the model"):
                load_model(path)


def test_other_files_are_no_models(tmp_path):
    (tmp_path / "m.skops").write_text("hello")
    for function in (load_model, model_about):
        with pytest.raises(UntrustedModelError, match="not a model file"):
            function(tmp_path / "m.skops")
        with pytest.raises(FileNotFoundError, match="no file"):
            function(tmp_path / "absent.skops")


def say_instead(path, about):
    """Replace what a model file says of itself."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["mahalearn.json"] = json.dumps(about).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("about", [[1, 2], "text", 3, None, {"versions": ["mahalearn"]}])
def test_a_file_that_says_something_else_is_no_model(tmp_path, about):
    path = save_model(KernelQuadraticDiscriminant().fit(X, y), tmp_path / "m.skops")
    say_instead(path, about)
    for function in (load_model, model_about):
        with pytest.raises(UntrustedModelError, match="not a model file"):
            function(path)


def test_other_versions_are_said(tmp_path):
    path = save_model(KernelQuadraticDiscriminant().fit(X, y), tmp_path / "m.skops")
    about = model_about(path)
    about["versions"]["scikit-learn"] = "0.1.0"
    say_instead(path, about)
    with pytest.warns(UserWarning, match=r"scikit-learn 0\.1\.0 then"):
        load_model(path)


def test_equal_arrays_are_stored_once_and_come_back_apart(tmp_path):
    model = KernelQuadraticDiscriminant().fit(X, y)
    model.first_, model.second_ = np.arange(50.0), np.arange(50.0)
    model.same_ = model.first_
    path = save_model(model, tmp_path / "m.skops")
    with zipfile.ZipFile(path) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        schema = archive.read("schema.json").decode()
    assert len(set(contents)) == len(contents)
    assert sorted(names, key=lambda name: int(name[:-4])) == [f"{i}.npy" for i in range(len(names))]
    assert str(id(model.first_)) not in schema  # digits of addresses do not compress
    again = load_model(path)
    assert again.same_ is again.first_
    again.first_[0] = 7.0
    assert again.second_[0] == 0.0
