#!/usr/bin/env bash
# plot_loss.sh METRICS: the curve of a metrics.jsonl in the terminal: . training (mean of its column), V validation.
set -euo pipefail
export LC_ALL=C  # decimal points, bytes

awk '
function number(name,    at, rest) {  # the value of "name": in this line, or ""
  at = index($0, "\"" name "\":")
  if (at == 0) { return "" }
  rest = substr($0, at + length(name) + 3)
  sub(/^ */, "", rest)
  sub(/[,}].*/, "", rest)
  return rest
}
{
  step = number("step") + 0
  if (number("val_loss") != "") { valid[step] = number("val_loss") + 0 }
  else if (number("loss") != "") { loss[step] = number("loss") + 0; if (step > last) { last = step } }
}
END {
  if (last == 0) { print "no training step in the file"; exit 1 }
  width = last < 72 ? last : 72
  height = 18
  for (step = 1; step <= last; ++step) {
    if (step in loss) { column = int((step - 1) * width / last); sum[column] += loss[step]; count[column]++ }
  }
  low = 1e30; high = -1e30
  for (column in sum) {
    mean[column] = sum[column] / count[column]
    if (mean[column] < low) { low = mean[column] }
    if (mean[column] > high) { high = mean[column] }
  }
  for (step in valid) {
    if (valid[step] < low) { low = valid[step] }
    if (valid[step] > high) { high = valid[step] }
  }
  if (high <= low) { high = low + 1 }
  for (column in mean) { mark[int((high - mean[column]) / (high - low) * (height - 1) + 0.5), column + 0] = "." }
  for (step in valid) {
    mark[int((high - valid[step]) / (high - low) * (height - 1) + 0.5), int((step - 1) * width / last)] = "V"
  }
  for (row = 0; row < height; ++row) {
    line = sprintf("%7.3f |", high - row * (high - low) / (height - 1))
    for (column = 0; column < width; ++column) { line = line ((row, column) in mark ? mark[row, column] : " ") }
    sub(/ +$/, "", line)
    print line
  }
  line = "        +"
  for (column = 0; column < width; ++column) { line = line "-" }
  print line
  printf "         step 1 to %d   . training   V validation\n", last
  for (step = 1; step <= last; ++step) { if (step in valid) { final = valid[step] } }
  printf "training loss %.3f at step 1, %.3f at step %d%s\n", loss[1], loss[last], last,
    final == "" ? "" : sprintf("; validation loss %.3f, perplexity %.1f", final, exp(final))
}' "$1"
