"""One script for each figure that README.md and docs/results.md stand on."""
