"""One script for each figure in README.md and docs/project/results.md, and one that makes that page."""
