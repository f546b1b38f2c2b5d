import numpy as np
import pytest

from app.learning.continuous.frame import Frame, Track
from app.learning.continuous.label_model import Candidate, LabelModel, candidates, weigh
from app.learning.continuous.process import Labels

HORIZON = 20
RNG = np.random.default_rng(0)
CHOICES = candidates()


def walks(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(scale=0.12, size=(n, HORIZON, 2)), axis=1)


def judge_of(states, good, ended=None):
    n = len(states)
    labels = Labels(good.astype(float), np.ones(n), np.zeros(n) if ended is None else ended)
    fine = states.reshape(-1, 2)[:: max(1, n * HORIZON // 400)]
    frame = Frame(fine[::3], fine)
    return LabelModel(frame, tracks_of(frame, states, labels.ended), labels, HORIZON), labels


def tracks_of(frame, states, ended):
    return [Track(frame, rows, bool(end)) for rows, end in zip(states, ended, strict=True)]


def share_of(shares, span):
    return sum(share for share, one in zip(shares, CHOICES, strict=True) if one.span == span)


@pytest.mark.parametrize(
    ("span", "first"), [("ended", 21), ("final", 20), ("last tenth", 19), ("last fifth", 17)]
)
def test_which_states_count(span, first):
    assert Candidate(span, 0.1, 9.0).first(HORIZON) == first


def test_all_states_count_but_the_first_seen():
    assert Candidate("all", 0.1, 9.0).first(HORIZON) == 1
    assert Candidate("last tenth", 0.1, 9.0).first(1) == 1


def test_every_span_is_as_probable_before_any_label():
    labels = Labels(np.empty(0), np.empty(0), np.empty(0))
    label_model = LabelModel(Frame(RNG.normal(size=(9, 2)), walks(1)[0]), [], labels, HORIZON)
    shares = weigh(label_model, labels, CHOICES)
    for span in ("final", "last tenth", "last fifth", "all"):
        assert share_of(shares, span) == pytest.approx(0.25)


def test_the_labels_choose_the_final_state_or_all_states():
    states = walks(150)
    by_final = (np.abs(states[:, -1, 0]) < 0.3) & (np.abs(states[:, -1, 1]) < 0.4)
    label_model, labels = judge_of(states, by_final)
    assert share_of(weigh(label_model, labels, CHOICES), "final") > 0.9
    label_model, labels = judge_of(states, states[:, :, 0].mean(axis=1) > 0.0)
    assert share_of(weigh(label_model, labels, CHOICES), "all") > 0.9


def test_the_end_is_chosen_where_it_decides_and_left_out_where_it_is_constant():
    states, ended = walks(60), (np.arange(60) % 2).astype(float)
    label_model, labels = judge_of(states, ended == 0, ended)
    shares = weigh(label_model, labels, CHOICES)
    assert share_of(shares, "ended") > 0.5
    verdict = label_model.mean(CHOICES[0])
    assert verdict.flag < -2.0
    assert verdict.intercept > 1.0
    label_model, labels = judge_of(states, ended == 0)
    assert share_of(weigh(label_model, labels, CHOICES), "ended") == 0.0


@pytest.mark.parametrize("candidate", CHOICES, ids=lambda one: one.name)
class TestEveryCandidate:
    def test_a_draw_without_spread_is_the_mean(self, candidate):
        label_model, _ = judge_of(walks(30), walks(30)[:, -1, 0] > 0)
        mean, drawn = (
            label_model.mean(candidate),
            label_model.draw(candidate, 0.0, np.random.default_rng(0)),
        )
        assert np.allclose(mean.values, drawn.values)
        assert drawn.flag == pytest.approx(mean.flag)
        assert drawn.intercept == pytest.approx(mean.intercept)

    def test_draws_scatter_around_the_mean(self, candidate):
        label_model, _ = judge_of(walks(30), walks(30)[:, -1, 0] > 0)
        rng, mean = np.random.default_rng(1), label_model.mean(candidate)
        draws = [label_model.draw(candidate, 1.0, rng) for _ in range(60)]
        assert np.std([one.intercept for one in draws]) > 0.2
        gap = np.mean([one.values for one in draws], axis=0) - mean.values
        spread = np.std([one.values for one in draws], axis=0)
        assert (np.abs(gap) <= 4.5 * spread / np.sqrt(60) + 1e-9).mean() > 0.95

    def test_predicted_logits_of_labelled_episodes_are_the_mode(self, candidate):
        states = walks(30)
        label_model, _ = judge_of(states, states[:, -1, 0] > 0)
        mean, deviation = label_model.predict(candidate, label_model._tracks)
        assert np.allclose(mean, label_model.posterior(candidate).logits, atol=1e-5)
        assert (deviation >= 0).all()

    def test_the_function_on_the_net_explains_the_labels(self, candidate):
        """The mean logit of an episode is its intercept and the mean of g over its span."""
        states = walks(40)
        label_model, _ = judge_of(states, states[:, -1, 0] > 0)
        if candidate.span == "ended" or candidate.length < 0.1:
            return  # nothing to explain, or finer than the net of this test
        verdict, logits = label_model.mean(candidate), label_model.posterior(candidate).logits
        fine = label_model._frame.fine
        counted = states[:, verdict.first - 1 :].reshape(-1, 2)
        near = ((counted[:, None] - fine) ** 2).sum(axis=2).argmin(axis=1)
        found = verdict.intercept + verdict.values[near].reshape(40, -1).mean(axis=1)
        assert np.corrcoef(found, logits)[0, 1] > 0.9


def test_an_episode_stands_on_its_centres():
    fine = walks(5)[:, :, :].reshape(-1, 2)
    frame = Frame(fine[::3], fine)
    track = Track(frame, walks(1)[0], False)
    for first in (1, 17, 20):
        row = track.occupied(first)
        assert row.sum() == pytest.approx(1.0)
        mean = walks(1)[0][first - 1 :].mean(axis=0)
        assert row @ frame.coarse == pytest.approx(mean, abs=0.1)


def test_the_root_of_the_prior_is_a_root():
    frame = Frame(RNG.normal(size=(20, 2)), RNG.normal(size=(30, 2)))
    root = frame.root(0.5)
    assert np.allclose(root @ root.T, frame.covariance(0.5), atol=1e-5)
    assert frame.root(0.5) is root
