#!/bin/sh
# Checks the exit codes of shardgpt-convert. Usage: exit_codes.sh PROGRAM REFERENCE_FOLDER
set -u
program=$1
reference=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect CODE TEXT ARGUMENTS...: the program must end with CODE and say TEXT.
expect() {
  code=$1
  text=$2
  shift 2
  "$program" "$@" >"$work/out" 2>&1
  found=$?
  if [ "$found" -ne "$code" ] || ! grep -q -- "$text" "$work/out"; then
    echo "shardgpt-convert $*: exit code $found, wanted $code and \"$text\":"
    cat "$work/out"
    failed=1
  fi
}

expect 0 "Usage" --help
expect 0 "Usage" to-hf --help
expect 0 "^shardgpt-convert [0-9]*\.[0-9]*\.[0-9]" --version
expect 2 "^shardgpt-convert: error: .*subcommand is required"
expect 2 "^shardgpt-convert: error: " bogus
expect 2 "not expected: --bogus" verify --bogus "$work/a.h5"
expect 2 "CKPT is required" verify
expect 2 "--output is required" to-hf "$work/a.h5"
expect 2 "no such file" verify "$work/a.h5"
expect 0 "wrote 28 tensors" from-hf "$reference" --output "$work/a.h5"
expect 2 "exists" from-hf "$reference" --output "$work/a.h5"
expect 0 "wrote" from-hf "$reference" --output "$work/a.h5" --overwrite
expect 2 "dtype" to-hf "$work/a.h5" --output "$work/hf" --dtype f64
expect 2 "at least one byte" to-hf "$work/a.h5" --output "$work/hf" --max-part-size 0
expect 0 "transformer.wte.weight" inspect "$work/a.h5"
expect 0 '"name": "transformer.wte.weight"' inspect "$work/a.h5" --json
expect 0 "is sound" verify "$work/a.h5"
expect 0 "computes the same" verify "$work/a.h5" --against "$reference"
expect 0 "wrote 28 tensors" to-llmc "$work/a.h5" --output "$work/a.bin"
expect 2 "exists" to-llmc "$work/a.h5" --output "$work/a.bin"
expect 2 "not float16" to-llmc "$work/a.h5" --output "$work/b.bin" --dtype f16
expect 0 "wrote 28 tensors" from-llmc "$work/a.bin" --output "$work/b.h5"
expect 0 "computes the same" verify "$work/b.h5" --against "$work/a.bin"
mkdir "$work/ids"
cp "$reference/model.safetensors" "$work/ids"
sed 's/"eos_token_id": *[0-9]*/"eos_token_id": 7/' "$reference/config.json" >"$work/ids/config.json"
expect 0 "wrote" from-hf "$work/ids" --output "$work/ids.h5"
expect 0 "warning: .* end of text 7 are lost" to-llmc "$work/ids.h5" --output "$work/ids.bin"
expect 2 "magic number 20240326" from-llmc "$work/a.h5" --output "$work/c.h5"
printf X | dd of="$work/a.h5" bs=1 seek=100000 conv=notrunc 2>/dev/null
expect 2 "is damaged" verify "$work/a.h5"
expect 2 "is damaged" to-hf "$work/a.h5" --output "$work/hf"
[ -e "$work/hf" ] && { echo "a failed export left its folder"; failed=1; }
expect 1 "cannot" from-hf "$reference" --output /dev/null/a.h5
expect 2 "holds no checkpoint" verify "$work"
exit $failed
