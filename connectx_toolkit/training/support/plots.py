"""Plots of training runs, drawn by matplotlib without a display."""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from connectx_toolkit.console.files import write_whole


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG, whole or not at all."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    write_whole(path, picture.getvalue())


def save_curve(path: Path, x_label: str, y_label: str, curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Plots curves as PNG: faint as measured, and strong as a moving mean over a twentieth of the points.

    Args:
        curves: name, "" for none -> (n,) x and (n,) y.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel=x_label, ylabel=y_label)
    for number, (name, (x, y)) in enumerate(curves.items()):
        width = max(1, len(y) // 20)
        smooth = np.convolve(y, np.full(width, 1 / width), "valid")
        axes.plot(x, y, color=f"C{number}", alpha=0.25, linewidth=0.8)
        axes.plot(x[width - 1 :], smooth, color=f"C{number}", label=name)
    axes.grid(alpha=0.3)
    if any(curves):
        axes.legend()
    save_figure(figure, path)
