"""The six sets: kept on disk, gone on with where they ended, and as hard as their bands say."""

import pytest

from benchmarks import positions
from benchmarks.positions import SIX_SETS, Band, Kind, Sample, six_set
from connectx.position import STANDARD, plies_to_end
from connectx.solver import Solver

KIND = Kind("Late-Hard", (17, 19), (20, 42), (Band(50, 1000, 0.5), Band(1000, 20_000, 0.5)))


@pytest.fixture(scope="module", autouse=True)
def with_a_small_table():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "TABLE_BITS", 18)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sets")


def left(sample: Sample) -> int:
    """The moves left in perfect play."""
    assert sample.score is not None
    return plies_to_end(sample.score, sample.ply, STANDARD.cells)


def test_half_of_the_positions_from_each_band(folder):
    """The nodes are those of a solver that has solved nothing before."""
    found = six_set(KIND, 6, 3, folder)
    bands = []
    for sample in found:
        solver = Solver(STANDARD, 18)
        assert sample.score == solver.solve(sample.position).low and sample.nodes == solver.nodes
        assert 17 <= sample.ply <= 19 and left(sample) >= 20
        bands.append(KIND.band(solver.nodes))
    assert bands.count(KIND.bands[0]) == bands.count(KIND.bands[1]) == 3


def test_a_set_goes_on_where_it_ended(folder):
    found = six_set(KIND, 6, 3, folder)
    path = folder / "Late-Hard-6-3.txt"
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:4]))
    assert six_set(KIND, 6, 3, folder) == found and path.read_text() == whole


def test_what_is_known_of_openings_spares_the_solver(folder):
    """Few positions of 4 to 6 stones end soon, and those of a set without bands may take any number of nodes."""
    kind = SIX_SETS[3]._replace(stones=(4, 6), left=(0, 20))
    assert all(left(sample) <= 20 for sample in six_set(kind, 2, 1, folder))
