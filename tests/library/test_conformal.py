"""Closed forms of conformal p-values against refits, and what is done with p-values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

import naive
from mahalearn.formulas import conformal
from mahalearn.formulas.conformal import (
    Augmented,
    benjamini_hochberg,
    class_coverage,
    class_p_values,
    conformal_class,
    distance_p_values,
    least_other,
    leave_one_out_sq_distances,
    margin_p_values,
    member_sq_distances,
    pooled_leverages,
    prediction_sets,
    query_sq_distances,
    rank_p_values,
    rank_sum_p_value,
    reference_class,
)

KERNELS = {
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.2),
    "linear": linear_kernel,
    "poly": lambda A, B: polynomial_kernel(A, B, degree=2),
    # Conditionally positive definite: only the centred matrix is definite.
    "neg_distance": lambda A, B: -np.sqrt(((A[:, None] - B) ** 2).sum(axis=2)),
}


def augmented_by_refits(kernel, X, x, alpha):
    """Leave-one-out distances of the n objects and of x in class ∪ {x}, by n + 1 refits."""
    pool = np.vstack([X, x])
    return naive.leave_one_out_by_refits(kernel(pool, pool), alpha, alpha / len(pool))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_augmented_distances_are_those_of_refits(rng, name, n):
    kernel, alpha = KERNELS[name], 0.3
    X, Q = rng.normal(size=(n, 3)), rng.normal(0, 2, size=(5, 3))
    model = conformal_class(kernel(X, X), alpha)
    kxx = np.diagonal(kernel(Q, Q)).copy()
    joined = model.augment(kernel(Q, X), kxx)
    own, members = query_sq_distances(joined, alpha), member_sq_distances(joined, alpha, model.c)
    p = distance_p_values(Augmented(joined.shifted.copy(), joined.r), model.c)
    for q in range(len(Q)):
        refits = augmented_by_refits(kernel, X, Q[q : q + 1], alpha)
        assert_allclose(own[q], refits[-1], rtol=1e-10)
        assert_allclose(members[q], refits[:-1], rtol=1e-10)
        assert p[q] == naive.rank_p_value(refits)
    if n > 1:
        sigma2 = alpha / (n + 1)
        refits = naive.leave_one_out_by_refits(kernel(X, X), alpha, sigma2)
        assert_allclose(leave_one_out_sq_distances(alpha, model.c), refits, rtol=1e-10)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_reference_distances_are_those_of_refits(rng, alpha):
    kernel = KERNELS["rbf"]
    X, Z, Q = rng.normal(size=(8, 3)), rng.normal(1, 1, size=(6, 3)), rng.normal(size=(4, 3))
    model = reference_class(kernel(X, Z), alpha)
    joined = model.augment(kernel(Q, Z))

    def mapped(A, B):
        return kernel(A, Z) @ kernel(B, Z).T / len(Z)

    own, members = query_sq_distances(joined, alpha), member_sq_distances(joined, alpha, model.c)
    p = distance_p_values(joined, model.c)
    for q in range(len(Q)):
        refits = augmented_by_refits(mapped, X, Q[q : q + 1], alpha)
        assert_allclose(own[q], refits[-1], rtol=1e-8)
        assert_allclose(members[q], refits[:-1], rtol=1e-8)
        assert p[q] == naive.rank_p_value(refits)


def test_references_are_left_out_of_their_own_maps(rng):
    kernel, alpha = KERNELS["rbf"], 0.05
    X, Z = rng.normal(size=(8, 3)), rng.normal(1, 1, size=(6, 3))
    model = reference_class(kernel(X, Z), alpha)
    found = model.other_sq_distances(kernel(Z, Z), np.arange(len(Z)))
    for i in range(len(Z)):
        # The coordinate is dropped; the map's scale 1/√N stays.
        rest = np.delete(Z, i, axis=0)
        phi, mine = (kernel(A, rest) / np.sqrt(len(Z)) for A in (X, Z[i : i + 1]))
        residual = naive.regularised_residual(
            phi @ phi.T, (phi @ mine.T)[:, 0], (mine @ mine.T)[0, 0], alpha
        )
        assert_allclose(found[i], residual * (len(X) + 1) / alpha, rtol=1e-9)


def test_margins_are_those_of_refits(rng):
    kernel, alpha = KERNELS["rbf"], 0.2
    A, B, C = rng.normal(size=(9, 2)), rng.normal(1, 1, (7, 2)), rng.normal(-1, 1, (8, 2))
    Q = rng.normal(size=(6, 2))

    def distance(x, other):
        K, k = kernel(other, other), kernel(x[None], other)[0]
        return naive.regularised_residual(K, k, 1.0, alpha) * (len(other) + 1) / alpha

    model = conformal_class(kernel(A, A), alpha)
    rivals = np.array([min(distance(x, B), distance(x, C)) for x in A])
    query_rivals = np.array([min(distance(x, B), distance(x, C)) for x in Q])
    p = margin_p_values(
        model.augment(kernel(Q, A), np.ones(6)), alpha, model.c, rivals, query_rivals
    )
    for q in range(len(Q)):
        refits = augmented_by_refits(kernel, A, Q[q : q + 1], alpha)
        assert p[q] == naive.rank_p_value(refits - np.append(rivals, query_rivals[q]))
    assert len(set(p)) > 2


def test_identity_of_resubstitution_and_deletion(rng):
    X, alpha = rng.normal(size=(15, 3)), 0.4
    K, n = rbf_kernel(X, gamma=0.3), 15
    resubstitution = [naive.classwise_sq_distance("RC+", K, K[i], K[i, i], alpha) for i in range(n)]
    deletion = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        Kr = K[np.ix_(rest, rest)]
        deletion.append(naive.classwise_sq_distance("RC+", Kr, K[i, rest], K[i, i], alpha))
    d2 = np.array(resubstitution)
    assert_allclose((n - 1) * (1 + d2) / (n - 1 - d2) - 1, deletion, rtol=1e-10)
    assert_array_equal(np.argsort(resubstitution), np.argsort(deletion))
    assert_allclose(pooled_leverages(K.copy(), alpha), resubstitution, rtol=1e-10)


def test_leverages_of_an_indefinite_pool(rng):
    d = np.abs(rng.normal(size=(12, 12)))
    K = -np.square(d + d.T)
    np.fill_diagonal(K, 0)
    expected = [naive.classwise_sq_distance("RC+", K, K[i], K[i, i], 0.7) for i in range(12)]
    assert_allclose(pooled_leverages(K.copy(), 0.7, definite=False), expected, rtol=1e-8)


@pytest.mark.parametrize("sigma2", [1e-4, 1e-7, 1e-8, 1e-9, 1e-10, 1e-13])
def test_small_regularisation_keeps_its_digits(rng, sigma2):
    """p-values against 50 digits: (K̃ + αI)⁻¹ is 1/α on the constant vector, however small α is."""
    mp = pytest.importorskip("mpmath")
    X, Q = rng.normal(size=(12, 3)), rng.normal(size=(15, 3))
    alpha, gamma = 13 * sigma2, 5.0
    model = conformal_class(rbf_kernel(X, gamma=gamma), alpha)
    p = distance_p_values(model.augment(rbf_kernel(Q, X, gamma=gamma), np.ones(15)), model.c)
    with mp.workdps(50):
        for q, x in enumerate(Q):
            pool = [[mp.mpf(v) for v in row] for row in np.vstack([X, x]).tolist()]
            sq = [[sum((s - t) ** 2 for s, t in zip(a, b)) for b in pool] for a in pool]
            K = mp.matrix([[mp.exp(-gamma * value) for value in row] for row in sq])
            H = mp.eye(13) - mp.ones(13) / 13
            S = (H * K * H + alpha * mp.eye(13)) ** -1
            strangest = [-(S[i, i] - 1 / (mp.mpf(alpha) * 13)) for i in range(13)]
            assert p[q] == sum(s >= strangest[-1] for s in strangest) / 13
    assert len(set(p)) > 3


@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("offset", [0, 1e3])
def test_a_duplicate_is_no_stranger_than_its_original(rng, alpha, offset):
    X = rng.normal(size=(20, 4)) + offset
    for kernel in (KERNELS["rbf"], linear_kernel):
        model = conformal_class(kernel(X, X), alpha)
        if model is None:
            assert kernel is linear_kernel and alpha < 1e-3
            continue
        kxx = np.diagonal(kernel(X, X)).copy()
        p = distance_p_values(model.augment(kernel(X, X), kxx), model.c, model.tie)
        assert (p >= 2 / 21).all()


def test_a_kernel_that_is_not_definite_with_the_query(rng):
    """r ≤ 0: the query has a negative squared distance and is nearer than everyone."""
    X = rng.normal(size=(6, 2))
    model = conformal_class(linear_kernel(X), 0.5)
    joined = model.augment(np.zeros((1, 6)), np.array([-50.0]))
    assert joined.r[0] < 0
    members = member_sq_distances(joined, 0.5, model.c)
    expected = (1 + (members[0] >= query_sq_distances(joined, 0.5)[0]).sum()) / 7
    assert distance_p_values(joined, model.c)[0] == expected


def test_alpha_lost_in_rounding_gives_no_model(rng):
    X = rng.normal(size=(6, 2)) * 1e6
    assert conformal_class(linear_kernel(X), 1e-12) is None
    assert reference_class(linear_kernel(X, X), 1e-12) is None


# --- ranks ----------------------------------------------------------------------------------------


def test_rank_p_values():
    assert_allclose(rank_p_values([([1.0, 2.0, 3.0], [0.0, 2.0, 2.5, 9.0])]), [1, 0.75, 0.5, 0.25])
    assert_allclose(rank_p_values([([1.0, np.inf], [np.inf, 5.0])]), [2 / 3, 2 / 3])


def test_class_p_values_rank_inside_each_fold(rng):
    folds = [
        (rng.normal(size=(9, 2)), rng.integers(0, 2, 9), rng.normal(size=(5, 2))) for _ in range(3)
    ]
    p = class_p_values(folds)
    pooled = class_p_values(folds, conditional=False)
    for q in range(5):
        for j in range(2):
            mine = [(cal[codes == j, j], new[q, j]) for cal, codes, new in folds]
            assert_allclose(p[q, j], naive.cross_conformal(mine))
            own = [(cal[np.arange(9), codes], new[q, j]) for cal, codes, new in folds]
            assert_allclose(pooled[q, j], naive.cross_conformal(own))
    single = [(cal.min(axis=1), new.min(axis=1)) for cal, _, new in folds]
    expected = [naive.cross_conformal([(c, s[q]) for c, s in single]) for q in range(5)]
    assert_allclose(rank_p_values(single), expected)


def test_a_class_without_calibration_objects_is_never_excluded():
    p = class_p_values([(np.zeros((3, 2)), np.array([0, 0, 0]), np.ones((2, 2)))])
    assert_allclose(p, [[0.25, 1], [0.25, 1]])


def test_prediction_sets_exclude_p_at_the_level():
    assert_array_equal(prediction_sets([0.05, 0.0500001, 0.2], 0.95), [False, True, True])
    assert_array_equal(prediction_sets([0.1], 0.9), [False])


def test_least_other():
    assert_array_equal(least_other([[1.0, 2.0, 3.0], [5.0, 5.0, 1.0]]), [[2, 1, 1], [1, 1, 5]])


def test_class_coverage():
    sets = [[True, False], [True, True], [False, False], [False, True]]
    found = class_coverage(sets, np.array([0, 0, 0, 1]), 0.95)
    assert_array_equal(found.counts, [3, 1])
    assert_allclose(found.coverage, [2 / 3, 1])
    assert_allclose(found.mean_size, [1, 1])
    assert_allclose(found.empty, [1 / 3, 0])
    assert (found.lower <= 0.95).all() and (found.upper >= 0.95).all()


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.05, 0.1, 0.3])
def test_benjamini_hochberg(rng, q):
    for _ in range(20):
        p = np.where(rng.random(30) < 0.3, rng.random(30) / 50, rng.random(30))
        assert_array_equal(benjamini_hochberg(p, q), naive.benjamini_hochberg(p.tolist(), q))
    assert not benjamini_hochberg(np.ones(4), q).any()


def test_false_discovery_rate_over_batches():
    """20 % novelties in batches of 50: the mean share of false alarms stays below q."""
    rng, q, shares, found = np.random.default_rng(0), 0.2, [], 0
    for _ in range(150):
        X = rng.normal(size=(60, 2))
        batch = np.vstack([rng.normal(size=(40, 2)), rng.normal(4, 1, size=(10, 2))])
        model = conformal_class(rbf_kernel(X, gamma=0.1), 0.1)
        p = distance_p_values(model.augment(rbf_kernel(batch, X, gamma=0.1), np.ones(50)), model.c)
        selected = benjamini_hochberg(p, q)
        shares.append(selected[:40].sum() / max(1, selected.sum()))
        found += selected[40:].sum()
    standard_error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= q + 3 * standard_error
    assert np.mean(shares) < q  # with 80 % regular objects the bound is 0.8q
    assert found > 0.5 * 150 * 10


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", [(6, 3), (3, 6), (5, 5), (1, 4), (4, 1)])
def test_rank_sum_against_enumeration(rng, sizes, ties):
    for _ in range(5):
        a, b = (rng.integers(0, 4, n) if ties else rng.normal(size=n) for n in sizes)
        a, b = a.astype(float), b.astype(float)
        assert_allclose(rank_sum_p_value(a, b), naive.rank_sum_by_enumeration(a, b), rtol=1e-10)
        assert_allclose(
            rank_sum_p_value(a, b, "less"), naive.rank_sum_by_enumeration(-a, -b), rtol=1e-10
        )


def test_rank_sum_for_large_samples_is_near_the_exact_one(rng, monkeypatch):
    a, b = rng.normal(size=60), rng.normal(0.4, 1, size=25)
    exact = rank_sum_p_value(a, b)
    expected = stats.mannwhitneyu(b, a, alternative="greater", method="exact").pvalue
    assert_allclose(exact, expected, rtol=1e-9)
    monkeypatch.setattr(conformal, "EXACT_RANK_SUM", 0)
    assert_allclose(rank_sum_p_value(a, b), exact, rtol=0.05)
    assert rank_sum_p_value(np.ones(50), np.ones(50)) == rank_sum_p_value(np.ones(9), [1.0]) == 1


@pytest.mark.parametrize(("n", "m"), [(8000, 1), (3000, 2), (700, 10)])
def test_few_objects_among_many_are_no_normal_sum(n, m, rng):
    """One of 8,000 had p ≤ 0.1 with a probability of 0.13, two of them with 0.12."""
    a, b = rng.normal(size=n), 1.3 / np.sqrt(m) + 0.1 * rng.normal(size=m)
    for alternative in ("greater", "less", "two-sided"):
        for pair in ((a, b), (b, a)):
            expected = stats.mannwhitneyu(*pair[::-1], alternative=alternative, method="exact")
            assert abs(rank_sum_p_value(*pair, alternative) - expected.pvalue) < 2e-3


def test_a_far_score_does_not_make_all_others_tie(rng):
    # The largest score was the unit of ties: one of 1e14 gave p = 1.
    a, b = np.square(rng.normal(size=60)), 4 * np.square(rng.normal(size=20))
    for far in (1e6, 1e14, 1e300, np.inf):
        expected = rank_sum_p_value(np.r_[a, 100.0 + b.max()], b)
        assert rank_sum_p_value(np.r_[a, far], b) == expected < 0.05
    tied = np.array([1.0, 1 + 1e-13, np.inf, np.inf, -1e-3, 0])
    assert rank_sum_p_value(tied[::2], tied[1::2]) == rank_sum_p_value(
        np.array([1, np.inf, -1e-3]), np.array([1, np.inf, 0])
    )
