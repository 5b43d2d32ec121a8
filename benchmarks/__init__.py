"""One script for each claim of the README: prints our figure, the published one, and the ratio."""
