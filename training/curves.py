"""Pictures of what a training run did, drawn by matplotlib without a display."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from training.manifest import write_atomically


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG, all of it or none."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    write_atomically(path, picture.getvalue())
