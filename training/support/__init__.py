"""What a method needs whatever it trains: options, checkpoints, the manifest, processes, plots."""
