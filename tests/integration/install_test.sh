#!/usr/bin/env bash
# `cmake --install` into an empty folder installs every program and the licence. The programs start
# from there, print the version of the project, and run one.
# Usage: install_test.sh PROGRAMS
set -Eeuo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source "$here/checks.sh"
build=${1%/bin}
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
output=$folder/log
cmake --install "$build" --prefix "$folder/root" >"$output" 2>&1 || fail_test "cmake --install"
chmod 711 "$folder" # other accounts may start the programs
cd "$folder/root"

echo "licence"
for file in LICENSE COPYING README.md LICENSE.nng; do
    [[ -s share/doc/dedloc/$file ]] || fail_test "share/doc/dedloc/$file is missing"
done
grep -q '^The MIT License' share/doc/dedloc/LICENSE.nng || fail_test "LICENSE.nng has no notice"

echo "programs"
expected="dedloc dedloc-backbone dedloc-credit dedloc-evaluate dedloc-gateway dedloc-peer"
expected+=" dedloc-plan dedloc-purge dedloc-runs dedloc-server dedloc-validator dedloc-work"
expected+=" dedloc_aggregate dedloc_launcher dedloc_train"
installed=$(cd bin && LC_ALL=C printf '%s\n' * | LC_ALL=C sort | tr '\n' ' ')
[[ $installed == "$expected " ]] || fail_test "bin holds $installed"
for program in $expected; do
    [[ $program != dedloc_launcher ]] || continue # it has no version: package_test.sh runs it
    printed=$("bin/$program" --version 2>&1) || fail_test "$program --version: $printed"
    [[ $printed == "$program $version" ]] || fail_test "$program --version printed $printed"
done

echo "the installed programs run a project"
"$here/cli_test.sh" "$PWD/bin" || fail_test "cli_test.sh with the installed programs"
