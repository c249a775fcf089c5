#!/usr/bin/env bash
# test_install.sh CMAKE BUILD: installs into a folder of its own and starts the programs there.
set -euo pipefail
cmake=$1
build=$2
prefix="$(mktemp -d)"
trap 'rm -rf "$prefix"' EXIT

"$cmake" --install "$build" --prefix "$prefix"
for program in shardgpt-prep shardgpt-train shardgpt-convert; do
  "$prefix/bin/$program" --help > /dev/null || { echo "FAILED: $program --help"; exit 1; }
  "$prefix/bin/$program" --no-such-option > /dev/null 2>&1 && { echo "FAILED: $program takes any option"; exit 1; }
done
for file in share/shardgpt/jobs/tiny-cpu.toml share/doc/shardgpt/README.md share/doc/shardgpt/running.md share/shardgpt/slurm/train.sbatch; do
  [[ -s $prefix/$file ]] || { echo "FAILED: $file is not installed"; exit 1; }
done
