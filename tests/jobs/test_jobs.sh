#!/usr/bin/env bash
# test_jobs.sh TRAIN JOBS: plans every configuration of JOBS with --dry-run on a shard of its own.
set -euo pipefail
train=$1
jobs=$2

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  printf 'FAILED: %s\n' "$1"
  cat output
  exit 1
}
little_endian_32() {
  local shift
  for shift in 0 8 16 24; do
    printf '%b' "\\x$(printf '%02x' $(($1 >> shift & 255)))"
  done
}
make_shard() {  # FILE TOKENS: all of them id 0
  {
    little_endian_32 20240520
    little_endian_32 1
    little_endian_32 "$2"
    head -c $((1024 - 3 * 4 + 2 * $2)) /dev/zero
  } > "$1"
}
# A step of the largest job reads 1024 sequences of 1024 tokens.
make_shard train.bin $((1024 * 1024 + 1))
make_shard valid.bin 2049

plan() {
  local code=0
  # The weights of a fine-tuning job need not be here: its model is named too.
  "$train" "$@" --data train.bin --val-data valid.bin --init-from "" --dry-run --plan-ranks 8 > output 2>&1 || code=$?
  return "$code"
}

count=0
for job in "$jobs"/*.toml; do
  plan --config "$job" || fail "$job: exit code $?"
  grep -q '^memory per rank' output || fail "$job: no memory table"
  count=$((count + 1))
done
((count >= 5)) || { echo "only $count configurations in $jobs"; exit 1; }

# A misspelt key must not be ignored: the run would not be what its file says.
printf 'steps = 10\nmodel = "gpt2"\nlearning-rat = 1\n' > typo.toml
code=0
plan --config typo.toml || code=$?
((code == 2)) || fail "unknown key: exit code $code, wanted 2"
grep -q 'learning-rat' output || fail "unknown key: it is not named"

code=0
plan --config missing.toml || code=$?
((code == 2)) || fail "missing configuration file: exit code $code, wanted 2"

echo "$count configurations planned"
