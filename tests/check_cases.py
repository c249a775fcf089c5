#!/usr/bin/env python3
"""Checks that tests/cases.md names tests that exist, and leaves no case out.

  check_cases.py TESTS_FOLDER [CTEST BUILD_FOLDER]    prints one line for each fault; exit code 1 if there is one

A row is "| ID | behaviour | tests |". Tests are separated by <br>, each "`ctest name` folder/file `case`, `case`"; a row
without any says "none: " and the reason. The numbers of a letter run from 01 without a gap over the rows and the
lines "Numbers not in use: ...". With CTEST, ctest has to know the names too.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^\|\s*([A-Z]\d\d)\s*\|\s*(.*?)\s*\|\s*(.*?)\s*\|$")
TEST = re.compile(r"^`([\w-]+)` ([\w./-]+) (`\w+`(?:, `\w+`)*)$")
CASES = [re.compile(pattern, re.MULTILINE) for pattern in (
    r"^\s*BOOST_(?:AUTO|FIXTURE|DATA)_TEST_CASE\((\w+)", r"^\s*def (\w+)\(", r"^int (main)\(")]


def cases_of(text):
    return {name for pattern in CASES for name in pattern.findall(text)}


def names_of_ctest(ctest, build):
    """As cases.md writes them: without the number of ranks."""
    listing = json.loads(subprocess.run([ctest, "--show-only=json-v1"], cwd=build, check=True, capture_output=True,
                                        text=True).stdout)
    return {re.sub(r"_np\d+$", "", test["name"]) for test in listing["tests"]}


def check_tests(folder, text, known):
    for part in text.split("<br>"):
        found = TEST.match(part.strip())
        if not found:
            yield f"'{part.strip()}' is not `ctest name` folder/file `case`"
            continue
        name, file, cases = found.groups()
        path = folder / file
        if known is not None and name not in known:
            yield f"ctest knows no {name}"
        if not path.is_file():
            yield f"{file} does not exist"
            continue
        builder = path.parent / "CMakeLists.txt"
        if path.stem.removeprefix("test_") not in builder.read_text():  # tests/system leaves prefix and ending out
            yield f"{file} is not part of any test in {builder.relative_to(folder)}"
        for case in set(re.findall(r"\w+", cases)) - cases_of(path.read_text()):
            yield f"{file} has no case {case}"


def check(folder, known):
    text = (folder / "cases.md").read_text()
    rows = [row.groups() for row in map(ROW.match, text.splitlines()) if row]
    unused = re.findall(r"[A-Z]\d\d", " ".join(re.findall(r"^Numbers not in use: (.*)$", text, re.MULTILINE)))
    for number, count in collections.Counter([row[0] for row in rows] + unused).items():
        if count > 1:
            yield f"{number} stands {count} times"
    numbers = collections.defaultdict(set)
    for number in [row[0] for row in rows] + unused:
        numbers[number[0]].add(int(number[1:]))
    for letter, found in sorted(numbers.items()):
        for number in sorted(set(range(1, max(found) + 1)) - found):
            yield f"{letter}{number:02} is missing"
    if not rows:
        yield "there are no cases"
    for number, behaviour, tests in rows:
        if not behaviour:
            yield f"{number} says no behaviour"
        if re.match(r"none: \w", tests):
            continue
        for fault in check_tests(folder, tests, known):
            yield f"{number}: {fault}"


def main():
    if len(sys.argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1]).resolve()
    known = names_of_ctest(*sys.argv[2:]) if len(sys.argv) == 4 else None
    faults = list(check(folder, known))
    for fault in faults:
        print(f"tests/cases.md: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
