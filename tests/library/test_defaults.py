"""Defaults that a stranger can trust: searches, words, the chooser, extreme scales (issue 13)."""

import re
import warnings

import numpy as np
import pytest
from benchmarks.degenerate import foreign
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import (
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)

import mahalearn
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisSVC,
    OneVsRestSVC,
    PseudoEuclideanEmbedding,
)

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
SEARCHED = (
    KernelQuadraticDiscriminant,
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelKNeighborsClassifier,
    KernelRidgeClassifier,
    OneVsRestSVC,
    MahalanobisSVC,
)


def test_searches_can_be_imported_from_their_package():
    names = [name for name in mahalearn.__all__ if name.endswith("CV")]
    assert names == ["KernelSearchCV", "MahalanobisClassifierCV"]
    for name in names:
        assert getattr(mahalearn.model_selection, name) is getattr(mahalearn, name)


# --- item 11: a search never loses to the plain estimator -----------------------------------------


def table(name, n_train):
    """A raw data set, a small training part of it and the rest."""
    X, y = {"digits": load_digits, "cancer": load_breast_cancer, "wine": load_wine}[name](
        return_X_y=True
    )
    return train_test_split(X, y, train_size=n_train, stratify=y, random_state=0)


# The others are compared on one data set here, and on all of them in the full suite.
QUICK = (KernelQuadraticDiscriminant, KernelFisherDiscriminant)


@pytest.mark.parametrize(
    "name, n_train, cls",
    [
        (name, n_train, cls)
        for name, n_train in (("digits", 120), ("cancer", 120), ("wine", 80))
        for cls in SEARCHED
        if name == "cancer" or cls in QUICK
    ],
)
def test_a_default_search_does_not_lose_to_the_plain_estimator(name, n_train, cls):
    X, new, y, labels = table(name, n_train)
    plain, found = cls(), KernelSearchCV(cls(), cv=FOLDS).fit(X, y)
    # A search resolves scales once, on all its rows: γ = "scale" is the middle of its widths.
    widths = sorted({p["gamma"] for p in found.cv_results_["params"] if "gamma" in p})
    scales = {"gamma": widths[4]} if widths else {}
    if found.best_params_.get("standardize"):
        spread = X.std(axis=0)
        scales["standardize"] = (X.mean(axis=0), np.where(spread > 0, spread, 1.0))
    resolved = cls(**scales)
    reference = cross_val_score(resolved, X, y, cv=FOLDS).mean()
    assert found.best_score_ >= reference - 1e-9, (found.best_score_, reference)
    expected = plain.fit(X, y).predict(new) == labels
    ours = found.predict(new) == labels
    # Paired: 3.3 standard errors of the objects on which they differ, and a point for the choice.
    margin = 3.3 * np.sqrt((ours != expected).sum()) / len(labels) + 0.01
    assert ours.mean() >= expected.mean() - margin, (ours.mean(), expected.mean())


@pytest.mark.full
@pytest.mark.parametrize("cls", SEARCHED)
@pytest.mark.parametrize("name, n_train", [("digits", 600), ("cancer", 300), ("wine", 120)])
def test_a_default_search_does_not_lose_to_the_plain_estimator_in_full(name, n_train, cls):
    test_a_default_search_does_not_lose_to_the_plain_estimator(name, n_train, cls)


# --- item 12: words -------------------------------------------------------------------------------

WORDS = {
    "English": "through thought which would should white where when know right light night friend "
    "weather knowledge brought enough laughter daughter straight",
    "German": "schreiben sprechen zwischen wahrscheinlich geschichte gesellschaft verstehen schon "
    "machen brauchen zeichnung wirklich nachricht freundschaft schwierig zusammen geschwindigkeit "
    "rechnung sicherheit wissenschaft",
    "Italian": "ragazzo bellezza giornata piacere mangiare cucina signora aspettare domani "
    "quattro piccolo cavallo finestra bambino tavola stazione canzone amicizia lavoro vecchio",
    "Finnish": "kiitos ystävä kaupunki työpaikka puutarha kesällä huomenna hyvää päivää lentokone "
    "koulutus kirjasto tyttö poika äiti suomalainen vuosisata kukka syksyllä tuuli",
    "Polish": "dziękuję przyjaciel szczęście wszystko jeszcze książka człowiek zwierzę chrząszcz "
    "miejsce przepraszam zawsze dlaczego ponieważ mężczyzna wiedzieć źródło krzesło szybko czasem",
    "Turkish": "teşekkür arkadaş günaydın çocuk öğretmen öğrenci güzel üzgün büyük küçük yıldız "
    "kütüphane hoşgeldiniz çalışmak konuşmak görüşürüz söylemek düşünmek yürümek gülümsemek",
}


def test_words_of_six_languages_are_told_apart_without_knowing_their_scale():
    words = [word for text in WORDS.values() for word in text.split()]
    y = np.repeat(list(WORDS), [len(text.split()) for text in WORDS.values()])
    assert {len(text.split()) for text in WORDS.values()} == {20}
    assert len(set(words)) == 120
    scores = {}
    for model in (
        KernelQuadraticDiscriminant(kernel="edit"),
        KernelFisherDiscriminant(kernel="edit"),
        DissimilaritySpaceDiscriminant(kernel="edit"),
    ):
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
        scores[str(model)] = cross_val_score(model, words, y, cv=folds).mean()
    # Chance is .167, and exceeds .28 of 120 words in one of a thousand cases. These words are
    # easier than random ones: 0.1 has .28 to .31, and distances divided by their mean .40 to .51.
    assert min(scores.values()) > 0.35, scores


# --- item 18 --------------------------------------------------------------------------------------


def test_kernel_fisher_refuses_a_training_part_of_one_class():
    X, _, y, _ = table("wine", 60)
    splits = [
        (np.flatnonzero(y == 1), np.flatnonzero(y != 1)),
        (np.arange(60)[::2], np.arange(60)[1::2]),
    ]
    with pytest.raises(ValueError, match="class") as caught:
        KernelSearchCV(KernelFisherDiscriminant(), cv=splits).fit(X, y)
    assert not foreign(caught.value), caught.value
    for cls in SEARCHED:  # the others may know what to do, or say why they do not
        try:
            assert np.isfinite(KernelSearchCV(cls(), cv=splits).fit(X, y).best_score_)
        except ValueError as error:
            assert not foreign(error), error
            assert re.search("class", str(error)), error


def test_a_time_budget_drops_no_family_that_works():
    rng = np.random.default_rng(0)
    y = np.arange(510) % 2  # more than 500: the searches are timed on a part first
    X = rng.normal(size=(510, 3)) + y[:, None]
    single = [(np.delete(np.arange(510), i), [i]) for i in (3, 8, 100, 301)]  # as leave-one-out
    for cv in (StratifiedKFold(3), single):
        chooser = MahalanobisClassifierCV(
            ("gaussian", "kernel_fisher"), kernel="linear", cv=cv, time_budget=120, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            chooser.fit(X, y)
        assert [row["note"] for row in chooser.leaderboard_] == ["", ""]
        assert all(np.isfinite(row["mean_score"]) for row in chooser.leaderboard_)


@pytest.mark.full
def test_a_time_budget_drops_no_family_by_leave_one_out():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    chooser = MahalanobisClassifierCV(cv=LeaveOneOut(), time_budget=600, random_state=0).fit(X, y)
    assert {row["note"] for row in chooser.leaderboard_} == {""}


EXTREME = [
    KernelKNeighborsClassifier(3, weights="distance"),
    KernelKNeighborsClassifier(3, spectrum="square"),
    PseudoEuclideanEmbedding(),
    PseudoEuclideanEmbedding(spectrum="square"),
    KernelQuadraticDiscriminant(offset="loo"),
    KernelQuadraticDiscriminant("IC+", offset="map"),
    KernelQuadraticDiscriminant("FK+"),
    KernelQuadraticDiscriminant("FK-", spectrum="square"),
    DissimilaritySpaceDiscriminant("quadratic"),
    KernelPCAQuadraticDiscriminant(),
    KernelPCAQuadraticDiscriminant(spectrum="square"),
    KernelFisherDiscriminant(),
    KernelRidgeClassifier(),
    KernelSearchCV(KernelRidgeClassifier(), {"reg": [0.1]}, cv=FOLDS),
    OneVsRestSVC(max_iter=10_000),
    KernelSearchCV(KernelQuadraticDiscriminant(), {"reg": [0.1]}, cv=FOLDS),
    KernelSearchCV(KernelPCAQuadraticDiscriminant(), {"reg": [0.1]}, cv=FOLDS),
    KernelSearchCV(KernelFisherDiscriminant(), {"reg": [0.1]}, cv=FOLDS),
]


@pytest.mark.parametrize("estimator", EXTREME, ids=lambda e: re.sub(r"\s+", "", str(e))[:80])
def test_extreme_scales_give_numbers_or_a_sentence(estimator):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(24, 3)) + (np.arange(24) % 2)[:, None]
    y = np.arange(24) % 2
    problems = []
    for scale in (1e-320, 1e-200, 1e-160, 1e-80, 1e80, 1e150, 1e200, 1e300):
        for matrix in (Z @ Z.T, -(np.abs(Z[:, None] - Z[None]).sum(axis=2) ** 2)):
            K = scale * matrix
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = clone(estimator)
                    getattr(model, "estimator", model).set_params(kernel="precomputed")
                    model.fit(K, y)
                    for method in ("predict_proba", "decision_function", "transform"):
                        if hasattr(model, method):
                            values = getattr(model, method)(K)
                            if not np.isfinite(values).all():
                                problems.append(f"{scale}: {method} is not finite")
                problems += [f"{scale}: {w.message}" for w in caught if foreign(w)]
            except Exception as error:
                if foreign(error):
                    problems.append(f"{scale}: {type(error).__name__}: {error}"[:120])
    assert not problems, (len(problems), problems[:8])


@pytest.mark.parametrize("variant", ["RC+", "IC+", "FK+"])
def test_a_measure_is_regularised_by_its_spread(variant):
    words = [a + b for a in ("ka", "ko", "ta", "to", "ma") for b in ("sa", "so", "na", "no")]
    y = [word[-1] for word in words]
    for reg_on, reg in (("auto", "auto"), ("relative", 0.1)):
        model = KernelQuadraticDiscriminant(variant, reg, reg_on=reg_on, kernel="edit")
        found = model.fit(words, y).mahalanobis(words)
        if reg_on == "auto":
            expected, number = found, model.reg_
    assert_allclose(found, expected, rtol=1e-9)
    again = KernelQuadraticDiscriminant(variant, number, kernel="edit").fit(words, y)
    assert_array_equal(again.mahalanobis(words), expected)
    # With all objects as landmarks, by their own sums.
    marks = KernelQuadraticDiscriminant(
        variant, kernel="edit", landmarks=LandmarkMap(words, rtol=1e-12)
    )
    assert_allclose(marks.fit(words, y).mahalanobis(words), expected, rtol=1e-6, atol=1e-6)
    X = np.random.default_rng(0).normal(size=(20, 2))
    named = KernelQuadraticDiscriminant(variant).fit(X, y)
    assert named.reg_ == 0.01
    assert_array_equal(
        named.mahalanobis(X), KernelQuadraticDiscriminant(variant, 0.01).fit(X, y).mahalanobis(X)
    )
