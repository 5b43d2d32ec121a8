"""Building blocks of agents: positions, search, solver, networks. A submission contains no project code but this."""

from collections.abc import Callable

__version__ = "0.3.0"  # in the header of every submission

maker: Callable | None = None  # gives kernels machine code that this computer keeps; connectx_toolkit sets it
