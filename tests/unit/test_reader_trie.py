"""Token log-probabilities against brute force over all strings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.reader.policy import draw
from udfs.reader.trie import END, VOCAB, TokenDistribution, decode, encode


def brute_force(strings, weights, wanted):
    """p(token | prefix) by looking at every string."""
    total = math.fsum(weights)
    sequences = [((*s.encode(), END), w / total) for s, w in zip(strings, weights, strict=True)]
    target = (*wanted.encode(), END)
    steps = []
    for k in range(len(target)):
        before = math.fsum(p for s, p in sequences if s[:k] == target[:k])
        after = math.fsum(p for s, p in sequences if s[: k + 1] == target[: k + 1])
        steps.append(math.log(after / before))
    return steps


@given(
    st.lists(st.tuples(st.text(alphabet="ab\u00e9\u4e16", max_size=5), st.floats(min_value=1e-9, max_value=1.0)), min_size=1, max_size=40)
)
@settings(max_examples=150, deadline=None)
def test_factored_log_probs_are_those_of_brute_force(pairs):
    strings, weights = [s for s, _ in pairs], [w for _, w in pairs]
    distribution = TokenDistribution(strings, np.asarray(weights))
    total = math.fsum(weights)
    for string in set(strings):
        index = distribution.find(string)
        steps = distribution.log_probs(index)
        assert steps == pytest.approx(brute_force(strings, weights, string), abs=1e-12)
        whole = math.log(math.fsum(w for s, w in pairs if s == string) / total)
        assert float(steps.sum()) == pytest.approx(whole, abs=1e-12)


def test_a_string_that_begins_another_ends_by_the_end_token():
    # p("a") = 1/4, p("ab") = 3/4: after "a" the end token has 1/4, "b" has 3/4, and after "ab" the end is certain.
    distribution = TokenDistribution(["ab", "a"], np.asarray([3.0, 1.0]))
    assert distribution.tokens(0) == [97, END]
    assert distribution.log_probs(0) == pytest.approx([0.0, math.log(0.25)], abs=1e-15)
    assert distribution.log_probs(1) == pytest.approx([0.0, math.log(0.75), 0.0], abs=1e-15)


def test_equal_strings_are_one_and_the_order_given_does_not_matter():
    one = TokenDistribution(["x", "y", "x"], np.asarray([0.1, 0.2, 0.3]))
    other = TokenDistribution(["y", "x", "x"], np.asarray([0.2, 0.1, 0.3]))
    assert one.strings == other.strings == [b"x", b"y"]
    assert one.probabilities.tolist() == other.probabilities.tolist()


def test_tiny_probabilities_beside_large_ones_keep_their_digits():
    # 1000 strings "big..." hold all but 1e-14 of the mass; within the small branch "q?" the two are 1 : 3.
    strings = [f"big{k:03d}" for k in range(1000)] + ["qa", "qb"]
    weights = np.asarray([1e-3] * 1000 + [2.5e-15, 7.5e-15])
    distribution = TokenDistribution(strings, weights)
    steps = distribution.log_probs(distribution.find("qa"))
    assert steps[1] == pytest.approx(math.log(0.25), abs=1e-12)
    assert steps.sum() == pytest.approx(math.log(2.5e-15), abs=1e-9)


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0], [math.nan], [math.inf]])
def test_what_is_no_distribution_is_refused(weights):
    with pytest.raises(ValueError, match="distribution"):
        TokenDistribution(["x"] * len(weights), np.asarray(weights))


def test_samples_follow_the_distribution_and_their_float32_log_probs_add_up():
    distribution = TokenDistribution(["alpha", "alp", "beta"], np.asarray([0.5, 0.2, 0.3]))
    counts = {b"alpha": 0, b"alp": 0, b"beta": 0}
    for seed in range(4000):
        sample = draw(distribution, seed, 100)
        counts[sample.text.encode()] += 1
        expected = math.log(distribution.probabilities[distribution.find(sample.text)])
        assert sample.log_probs.dtype == np.float32
        assert float(sample.log_probs.sum(dtype=np.float64)) == pytest.approx(expected, abs=1e-6)
        assert sample.token_ids[-1] == END
        assert max(sample.token_ids) < VOCAB
    # Four standard errors of a share p over 4000 draws: 4 * sqrt(p (1 - p) / 4000) < 0.032.
    assert counts[b"alpha"] / 4000 == pytest.approx(0.5, abs=0.032)
    assert counts[b"alp"] / 4000 == pytest.approx(0.2, abs=0.032)


def test_a_response_beyond_the_limit_is_cut_without_an_end_token():
    sample = draw(TokenDistribution(["abcdef"], np.asarray([1.0])), 1, 4)
    assert (sample.text, sample.finish_reason) == ("abcd", "length")
    assert sample.token_ids == [97, 98, 99, 100]
    assert len(sample.log_probs) == 4
    whole = draw(TokenDistribution(["abc"], np.asarray([1.0])), 1, 4)
    assert (whole.token_ids, whole.finish_reason) == ([97, 98, 99, END], "stop")


def test_tokens_are_bytes_and_come_back():
    assert decode([*encode("Stra\u00dfe \u4e16"), END]) == "Stra\u00dfe \u4e16"
    assert encode("\ud800") == [ord("?")]
    assert decode(encode("\u4e16")[:2]) == "\ufffd"
