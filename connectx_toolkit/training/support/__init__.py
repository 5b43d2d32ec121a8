"""What all training methods use: options, checkpoints, the manifest, processes, plots."""
