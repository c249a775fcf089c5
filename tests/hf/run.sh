#!/bin/sh
# Checks exported folders against Hugging Face transformers.
# Usage: run.sh [--no-setup] PROGRAM REFERENCE_FOLDER WORK_FOLDER
#   PROGRAM is shardgpt-convert; the Python environment is made in WORK_FOLDER/hf-venv, from PyPI, once.
#   --no-setup ends with 77 (skipped) where the environment is not there yet.
set -eu
setup=yes
if [ "${1:-}" = "--no-setup" ]; then
  setup=no
  shift
fi
if [ $# -ne 3 ]; then
  sed -n '2,5p' "$0" >&2
  exit 2
fi
program=$1
reference=$2
venv=$3/hf-venv
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3 # Debian's, which has python3-torch; another one may come first in PATH

if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  if [ $setup = no ]; then
    echo "skipped: no environment in $venv (make check-hf makes it)"
    exit 77
  fi
  "$python" -c 'import torch' || { echo "python3-torch is missing: apt-get install python3-torch" >&2; exit 1; }
  rm -rf "$venv"
  "$python" -m venv --system-site-packages "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$venv/requirements.txt"
fi
HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 exec "$venv/bin/python" "$here/check_hf.py" "$program" "$reference"
