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
    cp --remove-destination -L /etc/resolv.conf "$root/etc/"
    DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y --no-install-recommends "$@" \
        >"$output" 2>&1 || fail_test "apt-get install $* in $root"
}

# ubuntu_keyring MIRROR: the file with the keys of Ubuntu's archive: that of ubuntu-archive-keyring,
# or, where this is not installed, of the package in the archive that has these bytes.
ubuntu_keyring() {
    local file=usr/share/keyrings/ubuntu-archive-keyring.gpg package=$roots/ubuntu-keyring.deb
    if [[ -e /$file ]]; then echo "/$file" && return; fi
    if [[ ! -e $roots/ubuntu-keyring/$file ]]; then
        curl -fsS "$1/pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb" -o "$package" \
            || fail_test "Ubuntu's keys cannot be fetched; install ubuntu-archive-keyring"
        echo "0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f  $package" \
            | sha256sum --quiet -c >&2 || fail_test "the package of Ubuntu's keys has other bytes"
        dpkg-deb -x "$package" "$roots/ubuntu-keyring"
    fi
    echo "$roots/ubuntu-keyring/$file"
}

# make_root NAME SUITE PACKAGE...: a minimal system of SUITE, a release of Debian, from the mirror
# of this machine, or of Ubuntu, and the packages with what they depend on. No daemon is started.
make_root() {
    local root=$roots/$1 suite=$2 scripts=/usr/share/debootstrap/scripts script mirror keyring
    local options=()
    shift 2
    [[ ! -e $root/.complete ]] || return 0
    echo "making a bare system of $suite: $(basename "$root")"
    rm -rf "$root"
    script=$scripts/$suite
    # Debian 12's debootstrap is older than these releases, whose scripts are the earlier ones'.
    case $suite in noble) script=$scripts/jammy ;; esac
    [[ -e $script ]] || script=$scripts/sid
    if grep -q '^keyring .*/ubuntu' "$script"; then
        mirror=$(sed -n 's/^[[:space:]]*default_mirror \(.*archive.*\)/\1/p' "$script" | head -n 1)
        keyring=$(ubuntu_keyring "$mirror")
        options=(--force-check-gpg --keyring "$keyring")
    else
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' | sort -u | head -n 1)
    fi
    debootstrap --variant=minbase "${options[@]}" "$suite" "$root" "$mirror" "$script" \
        >"$output" 2>&1 || fail_test "debootstrap $suite"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
    if [[ -n ${keyring:-} ]]; then
        sed -i 's/ main$/ main universe/' "$root/etc/apt/sources.list"
        chroot "$root" apt-get update >"$output" 2>&1 || fail_test "apt-get update in $root"
    fi
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
