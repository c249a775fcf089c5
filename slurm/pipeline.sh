#!/usr/bin/env bash
# From text to a Hugging Face model: submits preparation, training and conversion as a chain of jobs. Each waits for
# the one before to end with 0, which training does only when the run is finished, however often it is requeued.
#
#   slurm/pipeline.sh --text FILE... --tokenizer DIR --work DIR [--config FILE.toml] [--val-fraction F]
#                     [--prep 'OPTIONS'] [--sbatch-all 'OPTIONS'] [--sbatch-train 'OPTIONS'] [-- options of shardgpt-train]
#
# Makes WORK/data, WORK/run, WORK/model and WORK/logs. Run again, it goes on from what is there. Prints the job ids.
set -euo pipefail

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
text=()
tokenizer='' work='' config='' val_fraction=''
prep=() sbatch_all=() sbatch_train=()
while (($# > 0)); do
  case $1 in
    --text)
      shift
      while (($# > 0)) && [[ $1 != --* ]]; do
        text+=("$1")
        shift
      done
      ;;
    --tokenizer | --work | --config | --val-fraction)
      (($# > 1)) || usage
      name=${1#--}
      printf -v "${name//-/_}" '%s' "$2"
      shift 2
      ;;
    --prep)
      (($# > 1)) || usage
      read -ra prep <<< "$2"
      shift 2
      ;;
    --sbatch-all)
      (($# > 1)) || usage
      read -ra sbatch_all <<< "$2"
      shift 2
      ;;
    --sbatch-train)
      (($# > 1)) || usage
      read -ra sbatch_train <<< "$2"
      shift 2
      ;;
    --)
      shift
      break
      ;;
    *)
      echo "pipeline.sh: unknown argument $1" >&2
      usage
      ;;
  esac
done
[[ ${#text[@]} -gt 0 && -n $tokenizer && -n $work ]] || usage
for file in "${text[@]}" "$tokenizer/vocab.json" "$tokenizer/merges.txt" ${config:+"$config"}; do
  [[ -r $file ]] || { echo "pipeline.sh: cannot read $file" >&2 && exit 2; }
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$work/logs"
work=$(cd "$work" && pwd)
data=(--data "$work/data")
if [[ -n $val_fraction ]]; then
  data=(--data "$work/data/train" --val-data "$work/data/val")
  prep+=(--val-fraction "$val_fraction")
fi
submit() { sbatch --parsable --kill-on-invalid-dep=yes --output="$work/logs/%x-%j.out" "${sbatch_all[@]}" "$@" | cut -d';' -f1; }

first=$(submit "$here/prep.sbatch" "$work/data" "$tokenizer" "${text[@]}" "${prep[@]}")
second=$(submit --dependency="afterok:$first" "${sbatch_train[@]}" "$here/train.sbatch" "$work/run" \
  ${config:+--config "$config"} "${data[@]}" "$@")
third=$(submit --dependency="afterok:$second" "$here/convert.sbatch" "$work/run" "$work/model" --tokenizer "$tokenizer")
echo "prep $first"
echo "train $second"
echo "convert $third"
