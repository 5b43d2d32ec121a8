"""What all scripts share: command-line parser, progress, prompts, tables, agent names, and atomic file writing."""
