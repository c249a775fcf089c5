#!/usr/bin/env bash
# Fuzzes each target for some seconds, from the kept inputs on, one after the other.
# Usage: run.sh BUILD SECONDS [TARGET...]
#   BUILD is the folder of the preset `fuzz`; new inputs are kept in BUILD/corpus between runs, findings are
#   written to BUILD/findings. Ends with 1 where there is one.
set -euo pipefail
if (($# < 2)); then
  sed -n '2,5p' "$0" >&2
  exit 2
fi
build=$1
seconds=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
targets=("$@")
if ((${#targets[@]} == 0)); then
  targets=(safetensors hf_config shard_header llmc_model)
fi

failed=0
mkdir -p "$build/findings"
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  options=(-max_total_time="$seconds" -timeout=120 -rss_limit_mb=2048 -print_final_stats=1 -max_len=8192
    -artifact_prefix="$build/findings/$target-")
  case $target in
    safetensors | hf_config) options+=(-dict="$here/json.dict") ;;
  esac
  log="$build/$target.log"
  if "$build/tests/fuzz/fuzz_$target" "${options[@]}" "$build/corpus/$target" "$here/corpus/$target" > "$log" 2>&1; then
    printf '%s: %s executions, no finding\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%s: a finding, see %s\n' "$target" "$log"
    tail -n 40 "$log"
    failed=1
  fi
done
exit $failed
