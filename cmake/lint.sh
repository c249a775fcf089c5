#!/usr/bin/env bash
# lint.sh BUILD JOBS: layout, shell scripts, and clang-tidy over the compile database of BUILD.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
jobs=$2

echo 'lint: clang-format'
cmake/check_format.sh

echo 'lint: shellcheck'
mapfile -t scripts < <(find .ci cmake data_prep slurm tests -type f \( -name '*.sh' -o -name '*.sbatch' -o -path '.ci/run' \) 2> /dev/null)
shellcheck "${scripts[@]}"

echo 'lint: clang-tidy (minutes)'
# The generated units of tests/headers are the headers again; they are not in the pattern.
run-clang-tidy-14 -quiet -p "$build" -j "$jobs" "$PWD/(src|data_prep|checkpoints|tests)/.*" > "$build/clang-tidy.log" 2>&1 || {
  # Each finding once: a header's is reported by every file that includes it.
  grep -E '(error|warning):' "$build/clang-tidy.log" | sort -u || tail -n 40 "$build/clang-tidy.log"
  exit 1
}
echo 'lint: no finding'
