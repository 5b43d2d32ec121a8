"""One script for each figure that README.md and docs/project/results.md stand on."""

from connectx_toolkit.catalogue import import_from_agents

import_from_agents()
