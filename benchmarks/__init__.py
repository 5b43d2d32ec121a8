"""One script for each figure in README.md and docs/project/results.md, and one that makes that page."""

from connectx_toolkit.catalogue import import_from_agents

import_from_agents()
