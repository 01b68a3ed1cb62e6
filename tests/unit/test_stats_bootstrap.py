"""Cluster bootstrap: exact cases, coverage of a known truth, pairing, replicas, independence of order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from udfs.stats.bootstrap import Interval, cluster_interval, paired_interval, replica_interval

SETTINGS = {"seed": 7, "resamples": 1000, "confidence": 0.95}


def _clustered(generator, clusters, samples=8):
    """Rates of prompts whose true solve rates are alike within a cluster; their true mean is 1/2 by symmetry."""
    centre = generator.beta(1.2, 1.2, clusters)
    member = np.repeat(np.arange(clusters), generator.integers(1, 6, clusters))
    truth = generator.beta(8 * centre[member], 8 * (1 - centre[member]))
    return generator.binomial(samples, truth) / samples, [f"{c:04d}" for c in member]


def test_an_interval_of_clusters_covers_a_known_truth_and_one_of_rows_does_not():
    generator, trials, by_cluster, by_row = np.random.default_rng(3), 300, 0, 0
    for trial in range(trials):
        rates, clusters = _clustered(generator, 30)
        held = cluster_interval(rates, clusters, seed=trial, resamples=600, confidence=0.95)
        naive = cluster_interval(rates, [str(i) for i in range(len(rates))], seed=trial, resamples=600, confidence=0.95)
        by_cluster += held.low <= 0.5 <= held.high
        by_row += naive.low <= 0.5 <= naive.high
    # 300 trials: the standard error of a coverage of .95 is .013, so [.91, .99] is three of them.
    assert 0.91 <= by_cluster / trials <= 0.99
    assert by_row / trials < 0.85


def test_a_paired_difference_covers_the_true_change_and_is_narrower_than_two_scores_apart():
    generator, trials, covered, narrower = np.random.default_rng(4), 300, 0, 0
    for trial in range(trials):
        centre = generator.uniform(0.1, 0.8, 30)
        member = np.repeat(np.arange(30), generator.integers(1, 5, 30))
        ids, clusters = [f"p{i:03d}" for i in range(len(member))], {f"p{i:03d}": f"c{c:02d}" for i, c in enumerate(member)}
        gain = np.where(generator.random(30) < 0.5, 0.2, 0.0)[member]  # true mean change: 0.1, alike within a cluster
        first = dict(zip(ids, generator.binomial(8, centre[member]) / 8, strict=True))
        second = dict(zip(ids, generator.binomial(8, centre[member] + gain) / 8, strict=True))
        paired = paired_interval(first, second, clusters, seed=trial, resamples=600, confidence=0.95)
        covered += paired.low <= 0.1 <= paired.high
        apart = [
            cluster_interval(list(s.values()), list(clusters.values()), seed=trial, resamples=600, confidence=0.95) for s in (first, second)
        ]
        narrower += paired.high - paired.low < math.hypot(*(i.high - i.low for i in apart))
    assert 0.91 <= covered / trials <= 0.99
    assert narrower == trials


def test_an_interval_over_replicas_covers_what_other_seeds_and_other_documents_would_give():
    generator, trials, covered, blind = np.random.default_rng(5), 300, 0, 0
    for trial in range(trials):
        member = np.repeat(np.arange(30), 2)
        values = 0.1 + generator.normal(0, 0.1, 30)[member] + generator.normal(0, 0.05, (5, 1)) + generator.normal(0, 0.1, (5, 60))
        clusters = [f"{c:02d}" for c in member]
        held = replica_interval(values, clusters, seed=trial, resamples=600, confidence=0.95)
        one = cluster_interval(values[0], clusters, seed=trial, resamples=600, confidence=0.95)
        covered += held.low <= 0.1 <= held.high
        blind += one.low <= 0.1 <= one.high
    assert 0.91 <= covered / trials <= 0.99
    assert blind / trials < 0.85  # one seed cannot know how much the seed matters


def test_two_clusters_are_drawn_as_the_four_pairs_that_there_are():
    # Means 0 and 1, equal sizes: resamples give 0, 1/2, 1/2, 1, and with so few clusters the interval is all of them.
    held = cluster_interval([0.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"], **SETTINGS)
    assert held == Interval(0.5, 0.0, 1.0, prompts=4, clusters=2)


def test_many_equal_clusters_give_the_normal_interval():
    # 400 clusters of one prompt, half of them right: standard error sqrt(.25 / 399) = .0250; 1.966 (Student, 399) of it on each side.
    held = cluster_interval([0.0, 1.0] * 200, [f"{i:03d}" for i in range(400)], seed=1, resamples=20000, confidence=0.95)
    half = 1.966 * math.sqrt(0.25 / 399)
    assert held.estimate == 0.5
    assert (held.low, held.high) == (pytest.approx(0.5 - half, abs=0.003), pytest.approx(0.5 + half, abs=0.003))


def test_every_prompt_counts_the_same_whatever_the_size_of_its_cluster():
    assert cluster_interval([1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"], **SETTINGS).estimate == 0.75


@pytest.mark.parametrize(
    ("values", "clusters", "expected"),
    [
        ([], [], Interval(None, None, None, 0, 0)),
        ([0.25, 0.75], ["a", "a"], Interval(0.5, None, None, 2, 1)),  # one cluster: no bound can be known
        ([0.5], ["a"], Interval(0.5, None, None, 1, 1)),
        ([0.3, 0.3, 0.3], ["a", "b", "c"], Interval(0.3, 0.3, 0.3, 3, 3)),  # nothing varies: exactly, without float noise
        ([0.0, -0.0], ["a", "b"], Interval(0.0, 0.0, 0.0, 2, 2)),
    ],
)
def test_degenerate_cases_are_exact(values, clusters, expected):
    assert cluster_interval(values, clusters, **SETTINGS) == expected


def test_a_policy_does_not_differ_from_itself():
    rates = {f"p{i}": i / 10 for i in range(10)}
    held = paired_interval(rates, dict(rates), {ident: ident for ident in rates}, **SETTINGS)
    assert held == Interval(0.0, 0.0, 0.0, 10, 10)


def test_a_difference_is_over_the_common_prompts_and_its_sign_follows_the_order():
    first, second = {"a": 0.0, "b": 0.5, "only": 1.0}, {"a": 0.5, "b": 0.5, "other": 0.0}
    clusters = {"a": "1", "b": "2", "only": "3", "other": "4"}
    there, back = paired_interval(first, second, clusters, **SETTINGS), paired_interval(second, first, clusters, **SETTINGS)
    assert (there.estimate, back.estimate, there.prompts) == (0.25, -0.25, 2)


def test_the_order_of_the_prompts_changes_nothing_and_the_seed_does():
    generator = np.random.default_rng(6)
    rates, clusters = _clustered(generator, 25)
    shuffled = generator.permutation(len(rates))
    held = cluster_interval(rates, clusters, **SETTINGS)
    assert held == cluster_interval(rates[shuffled], [clusters[i] for i in shuffled], **SETTINGS)
    assert held != cluster_interval(rates, clusters, **{**SETTINGS, "seed": 8})


def test_one_replica_is_the_interval_of_its_clusters_and_equal_replicas_add_no_doubt_of_their_own():
    rates, clusters = _clustered(np.random.default_rng(8), 25)
    one = cluster_interval(rates, clusters, **SETTINGS)
    assert replica_interval([rates], clusters, **SETTINGS) == one
    three = replica_interval([rates] * 3, clusters, seed=7, resamples=20000, confidence=0.95)
    assert (three.estimate, three.replicas) == (one.estimate, 3)
    assert (three.low, three.high) == (pytest.approx(one.low, abs=0.02), pytest.approx(one.high, abs=0.02))


@pytest.mark.parametrize("values", [[0.5], [0.5, float("nan")], [0.5, float("inf")]])
def test_unequal_lengths_and_values_that_are_no_numbers_are_refused(values):
    with pytest.raises(ValueError, match=r"finite|reshape"):
        cluster_interval(values, ["a", "b"], **SETTINGS)


def test_memory_is_bounded_by_steps_that_do_not_change_the_result(monkeypatch):
    rates, clusters = _clustered(np.random.default_rng(9), 40)
    held = cluster_interval(rates, clusters, **SETTINGS)
    monkeypatch.setattr("udfs.stats.bootstrap.DRAWS", 100)
    assert cluster_interval(rates, clusters, **SETTINGS) == held
