"""One script for each figure of docs/results.md: prints our figure, the published one if any, and the ratio."""
