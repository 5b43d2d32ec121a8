"""What every script shares: the command line's parser, progress, tables, and files that are written whole."""
