#!/bin/sh
# Makes a Python environment from PyPI, once: again only where the requirements have changed.
# Usage: venv.sh [--no-setup] VENV REQUIREMENTS [OPTION...]
#   The options go to python -m venv.
#   --no-setup ends with 77 (skipped) where the environment is not there yet.
set -eu
setup=yes
if [ "${1:-}" = "--no-setup" ]; then
  setup=no
  shift
fi
if [ $# -lt 2 ]; then
  sed -n '2,5p' "$0" >&2
  exit 2
fi
venv=$1
requirements=$2
shift 2

if cmp -s "$requirements" "$venv/requirements.txt"; then
  exit 0
fi
if [ $setup = no ]; then
  echo "skipped: no environment in $venv (make check-hf makes it)"
  exit 77
fi
rm -rf "$venv"
# Debian's Python, which has python3-torch; another one may come first in PATH.
/usr/bin/python3 -m venv "$@" "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$requirements"
cp "$requirements" "$venv/requirements.txt"
