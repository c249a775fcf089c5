#!/usr/bin/env python3
"""Checks that every test says how it may be run: in a container as root, with more ranks than cores, for how long.

  check_ctest.py CTEST BUILD_FOLDER    prints one line for each fault; exit code 1 if there is one
"""

import json
import subprocess
import sys

ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1"}


def faults_of(test):
    properties = {entry["name"]: entry["value"] for entry in test["properties"]}
    for variable in sorted(ENVIRONMENT - set(properties.get("ENVIRONMENT", []))):
        yield f"{variable} is not set"
    if not 0 < properties.get("TIMEOUT", 0) <= 3600:
        yield "it has no TIMEOUT of up to an hour"
    if properties.get("SKIP_RETURN_CODE") != 77:
        yield "exit code 77 does not mean that it was skipped"
    if not properties.get("LABELS"):
        yield "it has no label"


def main():
    listing = subprocess.run([sys.argv[1], "--show-only=json-v1"], cwd=sys.argv[2], check=True, capture_output=True,
                             text=True)
    tests = json.loads(listing.stdout)["tests"]
    faults = [f"{test['name']}: {fault}" for test in tests for fault in faults_of(test)]
    print("\n".join([*faults, f"{len(tests)} tests, {len(faults)} faults"]))
    return 1 if faults or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
