#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy. Ten seconds of processor time a file: so by
# default only on the sources that differ from the last commit that was pushed (or from the last
# commit but one), and on the source of each header that does.
# Usage: clang_tidy.sh BUILD [--all | FILE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:?usage: clang_tidy.sh BUILD [--all | FILE...]}
shift
folders=(boinc_app kernels peer project_server tests validators)

# Sources that the build compiles with the host's compiler, as paths from here.
compiled() {
    jq -r --arg root "$PWD/" '.[].file | select(startswith($root)) | .[($root | length):]' \
        "$build/compile_commands.json" \
        | grep -E "^($(IFS='|'; echo "${folders[*]}"))/.*\.cpp$" | sort -u
}

changed() {
    local base path
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null \
        || git rev-parse -q --verify HEAD~1 || true)
    if [[ -z $base ]]; then
        echo "clang-tidy: no earlier commit to compare with" >&2
        return
    fi
    { git diff --name-only "$base" -- "${folders[@]}"
      git ls-files --others --exclude-standard -- "${folders[@]}"; } | while read -r path; do
        case $path in
            *.cpp) echo "$path" ;;
            *.hpp) echo "${path%.hpp}.cpp" ;;
        esac
    done | sort -u
}

case ${1:-} in
    --all) sources=$(compiled) ;;
    '') sources=$(comm -12 <(compiled) <(changed)) ;;
    *) sources=$(printf '%s\n' "$@") ;;
esac
[[ -n $sources ]] || { echo "clang-tidy: no source has changed"; exit 0; }
echo "clang-tidy: $(wc -l <<<"$sources") files"
xargs -P "$(nproc)" -n 1 clang-tidy-14 --quiet --warnings-as-errors='*' -p "$build" <<<"$sources" \
    2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2)
