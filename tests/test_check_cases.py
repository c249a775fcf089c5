#!/usr/bin/env python3
"""check_cases.py finds what is wrong with a list of cases."""

import pathlib
import tempfile
import unittest

from check_cases import check

GOOD = ["| ID | Behaviour | Tests |", "|---|---|---|",
        "| A01 | one | `unit` x/test_x.cpp `first`, `second`<br>`system_y` x/y.py `test_y` |",
        "| A03 | three | none: needs a machine of its own |", "", "Numbers not in use: A02."]


class CheckCases(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "x").mkdir()
        (self.folder / "x/CMakeLists.txt").write_text("add(unit test_x.cpp)\nadd(y.py)\n")
        (self.folder / "x/test_x.cpp").write_text("BOOST_AUTO_TEST_CASE(first) {\nBOOST_FIXTURE_TEST_CASE(second, F) {\n")
        (self.folder / "x/y.py").write_text("class Y:\n    def test_y(self):\n")

    def faults(self, lines, known=frozenset({"unit", "system_y"})):
        (self.folder / "cases.md").write_text("\n".join(lines) + "\n")
        return list(check(self.folder, known))

    def changed(self, old, new):
        return self.faults([line.replace(old, new) for line in GOOD])

    def test_a_good_list(self):
        self.assertEqual(self.faults(GOOD), [])

    def test_numbers(self):
        self.assertEqual(self.changed("A02.", "none."), ["A02 is missing"])
        self.assertEqual(self.changed("A02.", "A02, A03."), ["A03 stands 2 times"])
        self.assertEqual(self.faults(GOOD + [GOOD[2]]), ["A01 stands 2 times"])
        self.assertEqual(self.faults([]), ["there are no cases"])

    def test_tests(self):
        self.assertEqual(self.changed("`second`", "`third`"), ["A01: x/test_x.cpp has no case third"])
        self.assertEqual(self.changed("x/y.py", "x/z.py"), ["A01: x/z.py does not exist"])
        self.assertEqual(self.changed("`unit`", "`unite`"), ["A01: ctest knows no unite"])
        self.assertEqual(len(self.changed("none: needs a machine of its own", "")), 1)
        self.assertEqual(self.changed("| one |", "| |"), ["A01 says no behaviour"])
        (self.folder / "x/CMakeLists.txt").write_text("add(y.py)\n")
        self.assertEqual(self.faults(GOOD), ["A01: x/test_x.cpp is not part of any test in x/CMakeLists.txt"])


if __name__ == "__main__":
    unittest.main()
