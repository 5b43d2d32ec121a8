"""The clock's arithmetic, and a whole game's worth of overage."""

import pytest

from connectx_core import clock
from connectx_core.clock import Budget, budget_for, charge, seconds_for
from tests.conftest import REAL_CLOCK


@pytest.mark.parametrize("overage", [0.0, 0.5, 2.0, 10.0, 38.0, 60.0])
@pytest.mark.parametrize("act_timeout", [0.1, 1.0, 2.0, 8.0])
def test_a_move_leaves_a_margin_and_the_reserve(act_timeout, overage):
    seconds, spare = seconds_for(act_timeout, overage)
    assert 0 <= spare <= max(0.0, overage - clock.UNSPENT)
    assert seconds >= clock.LEAST
    if overage <= clock.UNSPENT:
        assert seconds <= act_timeout * clock.MOVE_SHARE
    else:
        assert seconds + spare - act_timeout <= overage - clock.UNSPENT


@pytest.mark.parametrize("parts", [1, 2], ids=["as a rule", "with the spare, each time"])
def test_bank_of_a_whole_game(parts):
    """21 moves that each use 0.1 s more than their budget, the first with 8 s of loading: under 30 s of 60 are used."""
    overage = 60.0
    for move in range(21):
        spent = 8.0 if move == 0 else 0.0
        used = spent + sum(seconds_for(2.0, overage, spent)[:parts]) + 0.1
        overage -= max(0.0, used - 2.0)
    assert 30.0 < overage < 45.0


@REAL_CLOCK
def test_the_spare_comes_after_the_deadline():
    budget = budget_for({"remainingOverageTime": 60.0}, {"actTimeout": 2.0})
    assert budget.with_spare().seconds_left() - budget.seconds_left() == pytest.approx(budget.spare, abs=0.01)
    assert budget.spare > 10.0 and budget.with_spare().spare == 0.0
    assert Budget(nodes=5).with_spare() == Budget(nodes=5)


@pytest.mark.parametrize(("overage", "share"), [(0.0, 0.5), (1.9, 0.5), (2.0, 0.5), (2.01, 0.85), (38.0, 0.85)])
def test_a_poor_bank_is_spared(overage, share):
    """With up to 2 s left, which could not pay for a hiccup, a move uses half of its time."""
    assert seconds_for(2.0, overage) == (2.0 * share, 0.0)


def test_an_empty_bank_is_never_drawn_on():
    assert seconds_for(2.0, 0.0) == (1.0, 0.0)
    assert seconds_for(2.0, 0.0, spent=1.9) == (clock.LEAST, 0.0)


@REAL_CLOCK
def test_load_time_is_charged_once():
    obs, config = {"remainingOverageTime": 30.0}, {"actTimeout": 2.0}
    charge(1.0)
    first, second = budget_for(obs, config).seconds_left(), budget_for(obs, config).seconds_left()
    assert first == pytest.approx(2.0 * clock.MOVE_SHARE - 1.0, abs=0.1)
    assert second == pytest.approx(2.0 * clock.MOVE_SHARE, abs=0.1)


def test_node_budget_replaces_the_clock():
    budget = budget_for({"remainingOverageTime": 60.0}, {"actTimeout": 2.0, "nodeBudget": 500})
    assert budget == Budget(nodes=500) and not budget.is_late()


def test_missing_fields_are_taken_with_care():
    """Without overage time in the observation, none is spent."""
    assert budget_for({}, {}).seconds_left() <= 2.0 * clock.POOR_MOVE_SHARE


def test_nodes_count_like_time():
    """A search that tells how many nodes it has counted ends in either mode."""
    assert Budget(nodes=5).is_late(5) and not Budget(nodes=5).is_late(4) and not Budget().is_late(10**9)
    assert Budget.seconds(-1).is_late() and not Budget.seconds(100).is_late(10**9)


def test_a_part_of_the_nodes():
    assert Budget(nodes=100).part(0.25) == Budget(nodes=25) and Budget().part(0.25) == Budget()
