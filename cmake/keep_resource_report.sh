#!/usr/bin/env bash
# keep_resource_report.sh COMPILER ARGUMENT... -o OBJECT ...: runs the compiler and keeps what ptxas says of registers,
# stack and spills in OBJECT.resources.txt. Everything else on standard error is passed on.
set -uo pipefail

object=
previous=
for argument in "$@"; do
  if [[ $previous == -o ]]; then
    object=$argument
  fi
  previous=$argument
done
if [[ $object != *.o ]]; then
  exec "$@"
fi

"$@" 2> "$object.messages"
status=$?
report='^ptxas info|bytes stack frame'
grep -E "$report" "$object.messages" > "$object.resources.txt"
grep -vE "$report|^$" "$object.messages" >&2
rm -f "$object.messages"
exit "$status"
