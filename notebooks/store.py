"""Runs the notebook and stores it with its outputs, small enough to read on GitHub: python -m notebooks.store"""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from connectx_toolkit.system.files import write_whole

NOTEBOOK = Path(__file__).absolute().parent / "connectx.ipynb"
LARGEST = 60_000  # characters of one output; Kaggle's player is longer, and GitHub does not run it
LIVE = ("application/vnd.jupyter.widget-view+json", "application/javascript")  # need a running notebook


def shorten_output(output: nbformat.NotebookNode, paths: dict[str, str]) -> nbformat.NotebookNode | None:
    """The output as it is stored: its short forms, with names in place of this machine's paths; None if none is left.

    Args:
        paths: the name to show for each path, longer paths first.
    """
    if "data" in output:
        forms = output.data
        output.data = {name: form for name, form in forms.items() if name not in LIVE and len(form) <= LARGEST}
        if output.data.keys() < forms.keys() and output.data.keys() <= {"text/plain"}:
            return None  # "<IPython.core.display.HTML object>" says nothing without the object
    for holder in (output, output.get("data", {})):
        for name in {"text", "text/plain"} & holder.keys():
            for path, shown in paths.items():
                holder[name] = holder[name].replace(path, shown)
    return output


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as work:
        home = NOTEBOOK.parent.parent / "runs" / "notebook"  # the first cell looks for the toolkit above it
        home.mkdir(parents=True, exist_ok=True)
        os.environ["CONNECTX_WORK"] = work
        os.environ["PYTHONPATH"] = str(NOTEBOOK.parent.parent)
        resources = {"metadata": {"path": str(home)}}
        NotebookClient(notebook, timeout=3600, resources=resources, coalesce_streams=True).execute()
        names = {work: "/tmp/connectx-notebook", str(home): "~/connectx-toolkit/notebooks"}
        paths = names | {str(NOTEBOOK.parent.parent): "~/connectx-toolkit"}
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # when it ran
            if cell.cell_type == "code":
                cell.outputs = [found for output in cell.outputs if (found := shorten_output(output, paths))]
    notebook.metadata.pop("widgets", None)
    write_whole(NOTEBOOK, nbformat.writes(notebook).encode())
    print(f"{NOTEBOOK}: {NOTEBOOK.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
