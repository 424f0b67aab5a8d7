#!/usr/bin/env bash
# Bare systems for tests written in bash; to be sourced after checks.sh. Each lies in a folder of
# $roots, is made once, and needs root and debootstrap.

# begin_in_roots ARGUMENT...: reads what the script's usage() says: options, PROGRAMS and suites.
# Options with a value are --roots and those named in `options`; each sets the variable of its
# name. Ends the script where it cannot make bare systems.
begin_in_roots() {
    local me option
    me=$(basename "$0" .sh)
    while [[ ${1:-} == -* ]]; do
        option=${1#--}
        case $1 in --help | -h) usage; exit 0 ;; esac
        [[ " roots ${options:-} " == *" $option "* ]] \
            || { echo "$me: unknown option $1; see --help" >&2; exit 2; }
        [[ -n ${2:-} ]] || { echo "$me: $1 wants a value; see --help" >&2; exit 2; }
        declare -g "$option=$2"
        shift 2
    done
    [[ $# -ge 1 ]] || { usage >&2; exit 2; }
    use_volunteers "$1"
    shift
    suites=("$@")
    [[ $# -ge 1 ]] || suites=(bullseye bookworm trixie)
    if [[ $EUID != 0 ]] || ! command -v debootstrap >/dev/null; then
        echo "skipped: root and debootstrap are needed to make bare systems"
        exit 77
    fi
    output=$folder/log
    roots=$(realpath -m -- "${roots:-$(dirname "${BASH_SOURCE[0]}")/../../build/roots}")
    mkdir -p "$roots"
}

# install_in ROOT PACKAGE...: packages of the system's archive, without what they recommend.
install_in() {
    local root=$1
    shift
    cp -L /etc/resolv.conf "$root/etc/"
    DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y --no-install-recommends "$@" \
        >"$output" 2>&1 || fail_test "apt-get install $* in $root"
}

# make_root NAME SUITE PACKAGE...: a minimal system of SUITE, a release of Debian, from the mirror
# of this machine, or of Ubuntu, and the packages with what they depend on. No daemon is started.
make_root() {
    local root=$roots/$1 suite=$2 script=/usr/share/debootstrap/scripts/$2 mirror
    shift 2
    [[ ! -e $root/.complete ]] || return 0
    echo "making a bare system of $suite: $(basename "$root")"
    rm -rf "$root"
    [[ -e $script ]] || script=/usr/share/debootstrap/scripts/sid
    if grep -q '^keyring .*/ubuntu' "$script"; then
        debootstrap --force-check-gpg --variant=minbase --components=main,universe "$suite" \
            "$root" >"$output" 2>&1 \
            || fail_test "debootstrap $suite"
    else
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' | sort -u | head -n 1)
        debootstrap --variant=minbase "$suite" "$root" "$mirror" "$script" >"$output" 2>&1 \
            || fail_test "debootstrap $suite"
    fi
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
    install_in "$root" "$@"
    touch "$root/.complete"
}

# add_to_root NAME BASE PACKAGE...: the system BASE with more packages.
add_to_root() {
    local root=$roots/$1 base=$roots/$2
    shift 2
    [[ ! -e $root/.complete ]] || return 0
    echo "making a bare system: $(basename "$root")"
    rm -rf "$root"
    cp -a --reflink=auto "$base" "$root"
    rm "$root/.complete"
    install_in "$root" "$@"
    touch "$root/.complete"
}
