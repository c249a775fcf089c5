#!/usr/bin/env bash
# Checks (or with --fix, applies) the layout of .clang-format in every source file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Releases of clang-format disagree with each other: the one that the project is formatted with is named here.
formatter=clang-format-14
if ! command -v "$formatter" > /dev/null; then
  printf 'check_format: %s is missing; "make setup" installs it\n' "$formatter" >&2
  exit 1
fi
arguments=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then
  arguments=(-i)
fi
find src data_prep checkpoints tests -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \) -print0 |
  xargs -0 "$formatter" "${arguments[@]}"
