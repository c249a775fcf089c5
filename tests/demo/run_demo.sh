#!/usr/bin/env bash
# run_demo.sh BIN: the whole way from text to a Hugging Face model, on two MPI ranks of this machine.
#
# The text is FOLDOC, a computing dictionary, from Debian's package dict-foldoc (GNU FDL). Everything is written to
# ./demo; an earlier demo there is replaced, the downloaded package is kept.
set -euo pipefail
export LC_ALL=C  # decimal points, bytes
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=$(realpath "$1")
here=tests/demo
out=demo
job=jobs/foldoc-demo.toml
begin=$SECONDS

say() { printf '\n== [%3d s] %s\n' $((SECONDS - begin)) "$*"; }
fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

mpirun=(mpirun -n 2 --oversubscribe --bind-to none)
if ((EUID == 0)); then
  echo 'demo: running as root: telling Open MPI that this is meant (OMPI_ALLOW_RUN_AS_ROOT)'
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
rm -rf "$out/text" "$out/tokenizer" "$out/data" "$out/run" "$out/hf" "$out/train.log"
mkdir -p "$out/download" "$out/text"

# ---------------------------------------------------------------------------------------------------------------
say 'text: FOLDOC from the Debian package dict-foldoc'
packages=("$out"/download/dict-foldoc_*.deb)
if [[ ! -f ${packages[0]} ]]; then
  command -v apt-get > /dev/null || fail "no apt-get here: put the package file dict-foldoc_*.deb into $out/download"
  # As root apt complains that its download user cannot write here; the file comes all the same.
  (cd "$out/download" && apt-get --quiet=2 -o APT::Sandbox::User=root download dict-foldoc) ||
    fail 'cannot download dict-foldoc: "sudo apt-get update" may be needed'
  packages=("$out"/download/dict-foldoc_*.deb)
fi
dpkg -x "${packages[0]}" "$out/download/package"
zcat "$out/download/package/usr/share/dictd/foldoc.dict.dz" > "$out/text/foldoc.txt"
awk -v train="$out/text/train.jsonl" -v valid="$out/text/valid.jsonl" -v nth=25 \
  -f "$here/articles_to_jsonl.awk" "$out/text/foldoc.txt"
printf '%d articles to train on, %d to validate with\n' \
  "$(wc -l < "$out/text/train.jsonl")" "$(wc -l < "$out/text/valid.jsonl")"

# ---------------------------------------------------------------------------------------------------------------
say 'shardgpt-prep: a vocabulary of its own, token shards'
"$bin/shardgpt-prep" train-bpe --vocab-size 4096 --output "$out/tokenizer" "$out/text/train.jsonl"
for part in train valid; do
  "$bin/shardgpt-prep" encode --vocab "$out/tokenizer/vocab.json" --merges "$out/tokenizer/merges.txt" \
    --output "$out/data/$part" "$out/text/$part.jsonl"
done

# ---------------------------------------------------------------------------------------------------------------
train=("${mpirun[@]}" "$bin/shardgpt-train" --config "$job" --data "$out/data/train" --val-data "$out/data/valid"
  --run-dir "$out/run")
steps=$(awk '$1 == "steps" { print $3 }' "$job")
rows() { awk '/"loss"/ { n++ } END { print n + 0 }' "$out/run/metrics.jsonl" 2> /dev/null || echo 0; }

say "shardgpt-train: $steps steps on 2 ranks, to be interrupted half way"
printf '%s\n' "${train[*]}"
"${train[@]}" > >(tee -a "$out/train.log") 2>&1 &
job_id=$!
trap 'kill "$job_id" 2> /dev/null || true' EXIT
while (($(rows) < steps / 2)); do
  kill -0 "$job_id" 2> /dev/null || fail "training ended early, see $out/train.log"
  sleep 0.2
done
say 'USR1 to mpirun, which hands it to the ranks: as a batch system does before the time limit'
kill -USR1 "$job_id"
code=0
wait "$job_id" || code=$?
trap - EXIT
((code == 75)) || fail "exit code $code, wanted 75 (stopped after saving)"
printf 'exit code 75, status: %s\n' "$(cat "$out/run/status")"
[[ $(cat "$out/run/status") == preempted ]] || fail 'status is not "preempted"'

say 'the same command again: it goes on where it was'
"${train[@]}" 2>&1 | tee -a "$out/train.log"
[[ $(cat "$out/run/status") == finished ]] || fail 'status is not "finished"'
(($(rows) == steps)) || fail "$(rows) rows of training in metrics.jsonl, wanted $steps"

# ---------------------------------------------------------------------------------------------------------------
say 'shardgpt-convert: verify the checkpoint, write the Hugging Face model'
"$bin/shardgpt-convert" verify "$out/run"
"$bin/shardgpt-convert" to-hf "$out/run" --output "$out/hf" --tokenizer "$out/tokenizer"

say 'loss'
bash "$here/plot_loss.sh" "$out/run/metrics.jsonl"
cat << END

== [$((SECONDS - begin)) s] done. What is where:
$out/tokenizer        vocab.json, merges.txt
$out/data             token shards of training and validation text
$out/run              checkpoints, metrics.jsonl, run.json, status
$out/train.log        what the two training runs printed
$out/hf               transformers.AutoModelForCausalLM.from_pretrained("$out/hf") loads it
END
