#!/usr/bin/env bash
# Downloads public data for training, where there is a network: the login node, not the compute nodes.
#
#   fetch.sh wikitext-103 | wikitext-2 | gpt2-tokenizer [--output DIR] [--base-url URL] [--variant raw|tokens]
#
#   --output DIR      where the files go; default: data/NAME
#   --base-url URL    another place that has the same files: a mirror, or file:///path
#   --variant V       WikiText as it is written (raw, the default: wiki.*.raw) or with <unk> for rare words (tokens)
#
# An interrupted download goes on where it stopped, when the same command is given again. A file has its final name only
# when it is whole and its SHA-256 is the known one. The sums are those that several public programs record for the files
# (Hugging Face datasets, mlx, MLDatasets.jl). Files without a known sum are not fetched.
set -euo pipefail
export LC_ALL=C

usage() {
  sed -n '4,9p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'
}

fail() {
  printf 'fetch: error: %s\n' "$1" >&2
  exit "${2:-1}"
}

what=
output=
base_url=
variant=raw
while (($# > 0)); do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --output | --base-url | --variant)
      (($# >= 2)) || fail "$1 needs a value" 2
      case $1 in
        --output) output=$2 ;;
        --base-url) base_url=${2%/} ;;
        --variant) variant=$2 ;;
      esac
      shift 2
      ;;
    -*)
      fail "there is no option $1 (--help shows the usage)" 2
      ;;
    *)
      [[ -z $what ]] || fail "one thing at a time: $what or $1" 2
      what=$1
      shift
      ;;
  esac
done
[[ $variant == raw || $variant == tokens ]] || fail "--variant is '$variant', wanted raw or tokens" 2

# What is to be had: lines of FILE SHA-256, and the place.
case $what in
  wikitext-103 | wikitext-2)
    default_url=https://wikitext.smerity.com
    case $what-$variant in
      wikitext-103-raw) files='wikitext-103-raw-v1.zip 91c00ae287f0d699e18605c84afc9e45c192bc6b7797ff8837e5474655a33794' ;;
      wikitext-103-tokens) files='wikitext-103-v1.zip 242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590' ;;
      wikitext-2-raw) files='wikitext-2-raw-v1.zip ef7edb566e3e2b2d31b29c1fdb0c89a4cc683597484c3dc2517919c615435a11' ;;
      wikitext-2-tokens) files='wikitext-2-v1.zip 92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c' ;;
    esac
    ;;
  gpt2-tokenizer)
    default_url=https://huggingface.co/openai-community/gpt2/resolve/main
    files='vocab.json 196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783
merges.txt 1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5'
    ;;
  *)
    usage >&2
    fail "what to fetch is '$what', wanted wikitext-103, wikitext-2 or gpt2-tokenizer" 2
    ;;
esac
: "${output:=data/$what}" "${base_url:=$default_url}"

sha256() {
  if command -v sha256sum > /dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  else
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

no_network() {
  fail "cannot reach $1
  Compute nodes often have no way out. Run this on a node that has one (the login node):
    ${BASH_SOURCE[0]} $what --output $(printf '%q' "$output")
  or fetch these files elsewhere, put them into $output, and run the same command again:
$(printf '%s\n' "$files" | sed "s|^\([^ ]*\) .*|    $base_url/\1|")
  Behind a proxy, set https_proxy."
}

# download URL FILE: appends what FILE lacks. 0: done, 3: the server says there is no such file, 4: FILE is whole already or
# longer, 5: no connection, 1: anything else.
download() {
  local code status=0
  if command -v curl > /dev/null; then
    local quiet=(--silent --show-error)
    [[ ! -t 2 ]] || quiet=(--progress-bar)
    curl --location --fail "${quiet[@]}" --connect-timeout 20 --speed-limit 1 --speed-time 60 --continue-at - \
      --output "$2" --write-out '%{http_code}' "$1" > "$scratch/code" || status=$?
    code=$(< "$scratch/code")
    case $status:$code in
      0:*) return 0 ;;
      *:404 | *:410 | 37:*) return 3 ;;
      *:416) return 4 ;;
      33:*) return 6 ;;
      5:* | 6:* | 7:* | 28:000 | 35:*) return 5 ;;
    esac
    return 1
  elif command -v wget > /dev/null; then
    wget --no-verbose --timeout=60 --tries=1 --continue --output-document="$2" "$1" 2> "$scratch/wget" || status=$?
    ((status == 0)) || cat "$scratch/wget" >&2
    case $status in
      0) return 0 ;;
      4) return 5 ;;
      8)
        grep -q ' 416' "$scratch/wget" && return 4
        grep -qE ' (404|410)' "$scratch/wget" && return 3
        ;;
    esac
    return 1
  fi
  fail 'neither curl nor wget is there'
}

# fetch FILE SHA-256
fetch() {
  local file=$output/$1 part=$output/$1.part url=$base_url/$1 sum status=0
  if [[ -f $file ]]; then
    sum=$(sha256 "$file")
    if [[ $sum == "$2" ]]; then
      printf 'fetch: %s is there\n' "$file"
      return
    fi
    fail "$file is there, but its SHA-256 is $sum, wanted $2; move it away to fetch it again"
  fi
  printf 'fetch: %s\n' "$url"
  [[ ! -s $part ]] || printf 'fetch: going on after %s bytes\n' "$(wc -c < "$part" | tr -d ' ')"
  download "$url" "$part" || status=$?
  if ((status == 6)); then
    # The server cannot send a part of a file.
    rm -f "$part"
    status=0
    download "$url" "$part" || status=$?
  fi
  [[ -s $part ]] || rm -f "$part"
  case $status in
    0 | 4) ;; # 4: nothing is missing, the sum tells
    3)
      rm -f "$part"
      fail "the server has no $url; name another place with --base-url"
      ;;
    5) no_network "$url" ;;
    *) fail "the download of $url broke off; run the same command again to go on" ;;
  esac
  sum=$(sha256 "$part")
  if [[ $sum != "$2" ]]; then
    mv -f "$part" "$part.wrong"
    fail "$url has SHA-256 $sum, wanted $2; what came is in $part.wrong. Run it again, or try another --base-url"
  fi
  mv "$part" "$file"
}

# Takes the text files out of the archive, each under its final name when it is whole.
unpack() {
  local archive=$1 name
  rm -rf "$output/.unpacking"
  mkdir "$output/.unpacking"
  if command -v unzip > /dev/null; then
    unzip -q -o "$archive" -d "$output/.unpacking"
  elif command -v bsdtar > /dev/null; then
    bsdtar -xf "$archive" -C "$output/.unpacking"
  elif command -v python3 > /dev/null; then
    python3 -m zipfile -e "$archive" "$output/.unpacking"
  else
    fail "to unpack $archive install unzip, bsdtar or python3"
  fi
  for name in train valid test; do
    mv "$output"/.unpacking/*/"wiki.$name.$variant" "$output/" || fail "$archive holds no wiki.$name.$variant"
  done
  rm -rf "$output/.unpacking"
}

mkdir -p "$output" || fail "cannot create $output"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

while read -r file sum; do
  fetch "$file" "$sum"
done <<< "$files"

case $what in
  wikitext-*)
    unpack "$output/${files%% *}"
    printf 'fetch: %s/wiki.{train,valid,test}.%s\n' "$output" "$variant"
    printf 'next:  shardgpt-prep encode --document heading --vocab V --merges M --output DIR %s/wiki.train.%s\n' \
      "$output" "$variant"
    ;;
  *)
    printf 'fetch: %s/vocab.json, %s/merges.txt\n' "$output" "$output"
    ;;
esac
