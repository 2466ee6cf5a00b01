#!/usr/bin/env python3
"""Runs the notebooks of this folder, and writes them with their results and pictures.

    python python/notebooks/run.py FOLDER [NAME...]

The notebooks are Python files with `# %%` before each cell, as Jupyter (with jupytext), VS Code and Spyder open them.
FOLDER gets each as `NAME.ipynb`, with all output, and its last picture as `NAME.png`. A cell that raises, or a notebook
that does not end in a picture, is an error. Needs `laxity`, `matplotlib`, `numpy`, `polars`, `nbclient` and `ipykernel`.
"""

import base64
import os
import pathlib
import sys
import tempfile

import nbclient
import nbformat
from nbformat import v4
from traitlets.config import Config

HERE = pathlib.Path(__file__).resolve().parent


def read(path: pathlib.Path) -> nbformat.NotebookNode:
    """A notebook from a file with percent cells."""
    cells = []
    for part in ("\n" + path.read_text()).split("\n# %%")[1:]:
        kind, _, body = part.partition("\n")
        body = body.strip("\n")
        if kind.strip() == "[markdown]":
            cells.append(v4.new_markdown_cell("\n".join(line[2:] for line in body.splitlines())))
        else:
            cells.append(v4.new_code_cell(body))
    notebook = v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def run(path: pathlib.Path, folder: pathlib.Path, config: Config) -> None:
    """Runs a notebook and writes it with its picture."""
    notebook = read(path)
    # The kernel's folder is this one, for `common`.
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", config=config,
                                     resources={"metadata": {"path": str(HERE)}})
    client.execute()
    nbformat.write(notebook, folder / f"{path.stem}.ipynb")
    pictures = [output.data["image/png"] for output in notebook.cells[-1].outputs
                if output.output_type == "display_data" and "image/png" in output.data]
    if not pictures:
        sys.exit(f"{path.name} does not end in a picture")
    (folder / f"{path.stem}.png").write_bytes(base64.b64decode(pictures[-1]))
    print(f"{path.stem}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells", flush=True)


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(HERE.glob("[0-9]_*.py"))
    chosen = [path for path in paths if path.stem in sys.argv[2:]] if len(sys.argv) > 2 else paths
    if not chosen:
        sys.exit(f"no such notebook; there are {', '.join(path.stem for path in paths)}")
    # Kernels are spoken to by sockets in a folder that nobody else can open, and leave nothing in the home folder.
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(JUPYTER_RUNTIME_DIR=scratch, IPYTHONDIR=scratch)
        for path in chosen:
            run(path, folder, Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/{path.stem}"}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
