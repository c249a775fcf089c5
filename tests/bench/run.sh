#!/usr/bin/env bash
# run.sh BUILD: runs the benchmarks of BUILD; the report, with machine and version, goes to BUILD/bench/DATE.txt.
set -euo pipefail
build=$1
mkdir -p "$build/bench"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
report="$build/bench/$(date -u +%Y-%m-%dT%H%M%SZ).txt"

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}
{
  date -u
  "$build/bin/shardgpt-train" --version
  lscpu | grep -E '^(Model name|CPU\(s\)|Thread|Core|Socket|NUMA node\(s\))' || true
  uptime
  run "$build/tests/bench/bench_step" --threads "$(nproc)"
  run python3 "$(dirname "$0")/bench_vs_torch.py" "$build"
  run "$build/tests/bench/bench_tokenizer"
  run mpiexec -n 2 --oversubscribe "$build/tests/bench/bench_checkpoint" "$build/bench"
} 2>&1 | tee "$report"
printf '\nreport: %s\n' "$report"
