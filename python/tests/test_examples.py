"""The examples of the documents that are written in Python."""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import textwrap
import unittest
from typing import Any, Dict, List, Tuple

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("README.md", "python/README.md", "docs/**/*.md")
BLOCK = re.compile(r"(?P<exempt><!-- not run: [^\n]* -->\n+)?^(?P<indent> *)```python\n(?P<code>.*?)^ *```$", re.M | re.S)
# Signatures, not programs.
REFERENCE = ROOT / "docs" / "reference" / "python.md"


def blocks() -> List[Tuple[str, str]]:
    """Place and text of each block that runs."""
    found = []
    for page in sorted({page for pattern in FOLDERS for page in ROOT.glob(pattern)} - {REFERENCE}):
        text = page.read_text()
        for match in BLOCK.finditer(text):
            if match["exempt"] is None:
                line = text.count("\n", 0, match.start()) + 1
                found.append((f"{page.relative_to(ROOT)}:{line}", textwrap.dedent(match["code"])))
    return found


class Examples(unittest.TestCase):
    # Fails when an example of a page raises: tried with a misspelt method. The examples of a page go on with the names of
    # those before them.
    def test_examples_run(self) -> None:
        scopes: Dict[str, Dict[str, Any]] = {}
        seen = 0
        home = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("scenarios", "captures", "python"):
                os.symlink(ROOT / name, pathlib.Path(folder, name))
            os.chdir(folder)
            try:
                for place, code in blocks():
                    seen += 1
                    # What the text around the examples gives: arrays of a trace.
                    scope = scopes.setdefault(place.partition(":")[0], {
                        "__name__": "example",
                        "times": numpy.arange(100) * 0.01, "sizes": numpy.full(100, 200)})
                    with self.subTest(place), contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(code, place, "exec"), scope)
            finally:
                os.chdir(home)
        self.assertGreaterEqual(seen, 3)


if __name__ == "__main__":
    unittest.main()
