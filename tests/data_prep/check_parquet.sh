#!/usr/bin/env bash
# Builds shardgpt-prep with the Arrow libraries of the pyarrow wheel and checks Parquet input with it.
# Usage: check_parquet.sh SOURCE WORK_FOLDER     needs PyPI once; ends with 77 (skipped) where that is out of reach
set -euo pipefail
source=$1
work=$2
venv=$work/arrow-venv
here=$source/tests/data_prep

if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -c 'import pyarrow' 2> /dev/null; then
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'pyarrow>=15'; then
    echo 'skipped: pyarrow is not to be had from PyPI'
    exit 77
  fi
fi
root=$("$venv/bin/python" -c 'import os, pyarrow; print(os.path.dirname(pyarrow.__file__))')
build=$work/with-arrow
cmake -S "$source" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D SHARDGPT_BUILD_TESTS=OFF \
  -D SHARDGPT_ARROW_ROOT="$root" > "$work/with-arrow.log"
cmake --build "$build" --target shardgpt-prep >> "$work/with-arrow.log"
"$venv/bin/python" "$here/check_parquet.py" "$build/bin/shardgpt-prep"
