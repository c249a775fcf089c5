#!/bin/sh
# Runs a check against Hugging Face transformers in its Python environment.
# Usage: run.sh WORK_FOLDER SCRIPT ARGUMENT...
#   The environment is WORK_FOLDER/hf-venv, which `make check-hf` makes; ends with 77 (skipped) where it is not there.
set -eu
if [ $# -lt 2 ]; then
  sed -n '2,4p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
venv=$1/hf-venv
script=$here/$2
shift 2
"$here/venv.sh" --no-setup "$venv" "$here/requirements.txt"
HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 exec "$venv/bin/python" "$script" "$@"
