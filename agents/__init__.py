"""One agent per file; each file ends in `def agent(obs, config)`. build_submission.py builds them."""
