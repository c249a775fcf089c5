#!/bin/sh
# Checks shardgpt-prep against Hugging Face tokenizers and tiktoken.
# Usage: run_tokenizer.sh [--no-setup] PROGRAM WORK_FOLDER [ARGUMENT...]
#   PROGRAM is shardgpt-prep; the Python environment is made in WORK_FOLDER/tokenizer-venv, from PyPI, once.
#   --no-setup ends with 77 (skipped) where the environment is not there yet.
#   The arguments go to check_tokenizer.py.
set -eu
setup=
if [ "${1:-}" = "--no-setup" ]; then
  setup=$1
  shift
fi
if [ $# -lt 2 ]; then
  sed -n '2,6p' "$0" >&2
  exit 2
fi
program=$1
venv=$2/tokenizer-venv
shift 2
here=$(cd "$(dirname "$0")" && pwd)
"$here/venv.sh" ${setup:+"$setup"} "$venv" "$here/tokenizer_requirements.txt"
HF_HUB_OFFLINE=1 exec "$venv/bin/python" "$here/check_tokenizer.py" "$program" "$@"
