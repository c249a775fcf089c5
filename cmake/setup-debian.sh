#!/usr/bin/env bash
# Installs the Debian packages listed in packages-debian.txt; does nothing where all are installed.
#
#   setup-debian.sh [--optional] [GROUP...]     groups: build lint hf slurm fuzz; none named: all
#
# --optional: where they cannot be installed (another distribution, no root) say so and succeed: on clusters the
# same libraries often come from modules, and CMake names what it does not find.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages-debian.txt"
optional=false
if [[ ${1:-} == --optional ]]; then
  optional=true
  shift
fi
groups=("$@")

wanted_packages() {
  awk -v groups="${groups[*]:-}" '
    BEGIN { count = split(groups, names, " "); for (i in names) { wanted[names[i]] = 1 } }
    /^#/ || NF == 0 { next }
    count == 0 || $1 in wanted { print $2 }' "$list"
}

missing_packages() {
  # dpkg-query fails for names it has never heard of; those are missing too.
  wanted_packages | sort > "$scratch/wanted"
  # shellcheck disable=SC2016  # the format is dpkg-query's
  xargs dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' < "$scratch/wanted" 2> /dev/null |
    awk '$1 == "installed" { print $2 }' | sort > "$scratch/installed" || true
  comm -23 "$scratch/wanted" "$scratch/installed"
}

give_up() {
  printf 'setup: %s\n' "$1" >&2
  if $optional; then
    printf 'setup: going on: CMake will name what it does not find\n' >&2
    exit 0
  fi
  exit 1
}

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  give_up "this system has no apt-get; install what corresponds to these Debian packages:
$(wanted_packages | sed 's/^/  /')"
fi

mapfile -t missing < <(missing_packages)
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo > /dev/null || ! sudo -n true 2> /dev/null && [[ ! -t 0 ]]; then
    give_up "not root and no sudo; ask for these packages: ${missing[*]}"
  fi
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" < /dev/null
}
install_missing() {
  apt install --yes --quiet --no-install-recommends "${missing[@]}"
}

printf 'setup: installing %s\n' "${missing[*]}"
# The package lists may be absent (fresh container) or older than the archive: fetch them only then.
if ! apt install --simulate --quiet "${missing[@]}" > /dev/null 2>&1; then
  apt update --quiet
  install_missing
elif ! install_missing; then
  apt update --quiet
  install_missing
fi
