"""What agents are made of: positions, search, solver, nets. The only project code that a submission contains."""

__version__ = "0.2.0"  # in the header of every submission
