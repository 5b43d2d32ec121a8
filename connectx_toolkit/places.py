"""Where the toolkit's own files lie: in a checkout of the repository, or where pip has installed them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # the folder that holds connectx and connectx_toolkit
IS_CHECKOUT = (ROOT / "agents").is_dir() and (ROOT / "pyproject.toml").is_file()
AGENTS = (ROOT if IS_CHECKOUT else Path(__file__).resolve().parent) / "agents"
WEIGHTS = AGENTS / "weights"
BOOK_SCORES = Path(__file__).resolve().parent / "training" / "book-scores.txt"  # of the first seat's book
