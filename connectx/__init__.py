"""What agents are made of: positions, search, solver, nets. The only project code that a submission contains."""
