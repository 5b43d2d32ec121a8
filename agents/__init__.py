"""One file, one agent: each ends in `def agent(obs, config)` and is built by build_submission.py."""
