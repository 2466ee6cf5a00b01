"""The page about the package in docs/reference."""

import importlib.util
import os
import pathlib
import unittest

import laxity

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "python.md"

_spec = importlib.util.spec_from_file_location("reference", ROOT / "python" / "reference.py")
assert _spec is not None and _spec.loader is not None
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


class Reference(unittest.TestCase):
    # Fails when a name is added to the package and not to the page: tried with `policies` left out.
    def test_every_name_is_described(self) -> None:
        own = {name for name in laxity.__all__ if not name.startswith("_")}
        self.assertEqual(own - set(reference.names()), set())

    # Fails when a signature or a text changes and the page does not: tried with another argument of `convolve`.
    def test_the_page_is_current(self) -> None:
        if "LAXITY_BLESS" in os.environ:
            PAGE.write_text(reference.page())
        self.assertEqual(PAGE.read_text(), reference.page(), "set LAXITY_BLESS=1 to write the page")

    # Fails when something on the page has no text.
    def test_everything_has_a_text(self) -> None:
        rows = [line for line in reference.page().splitlines() if line.startswith("| `") and "(" in line]
        silent = [row for row in rows if row.endswith("` |  |")]
        self.assertEqual(silent, [])
        self.assertGreater(len(rows), 80)


if __name__ == "__main__":
    unittest.main()
