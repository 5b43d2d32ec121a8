"""Building blocks of agents: positions, search, solver, networks. A submission contains no project code but this."""

__version__ = "2.0.0"  # in the header of every submission
