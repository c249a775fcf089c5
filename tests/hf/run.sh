#!/bin/sh
# Checks exported folders against Hugging Face transformers.
# Usage: run.sh [--no-setup] PROGRAM REFERENCE_FOLDER WORK_FOLDER
#   PROGRAM is shardgpt-convert; the Python environment is made in WORK_FOLDER/hf-venv, from PyPI, once.
#   --no-setup ends with 77 (skipped) where the environment is not there yet.
set -eu
setup=
if [ "${1:-}" = "--no-setup" ]; then
  setup=$1
  shift
fi
if [ $# -ne 3 ]; then
  sed -n '2,5p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "$setup" ]; then
  /usr/bin/python3 -c 'import torch' || { echo "python3-torch is missing: apt-get install python3-torch" >&2; exit 1; }
fi
"$here/venv.sh" ${setup:+"$setup"} "$3/hf-venv" "$here/requirements.txt" --system-site-packages
HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 exec "$3/hf-venv/bin/python" "$here/check_hf.py" "$1" "$2"
