#!/usr/bin/env bash
# Lists which folder includes which, from the top layer down, and fails when two folders include
# each other, directly or through others. Files in peer/ and peer/net/ themselves count as folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

edges=$(find peer kernels boinc_app project_server validators -regextype egrep \
        -regex '.*\.(hpp|cpp|cu|cuh)' -exec grep -HE '^ *# *include "[^"]+/[^"]+"' {} + \
    | sed -E 's/^([^:]+):[^"]*"([^"]+)".*/\1 \2/' \
    | awk '
        function room(path,   folder, file) {
            folder = file = path
            sub(/\/[^\/]*$/, "", folder)
            if (folder != "peer" && folder != "peer/net") return folder
            sub(/.*\//, "", file)
            sub(/\..*/, "", file)
            return folder "/" file
        }
        { from = room($1); to = room($2); if (from != to) print from, to }' \
    | sort -u)

# tsort prints an order in which every folder comes before those that it includes, or the loop.
if ! order=$(tsort <<<"$edges" 2>&1); then
    echo "includes: folders include each other:" >&2
    grep '^tsort: [^-]' <<<"$order" | sed 's/^tsort: /  /' >&2
    exit 1
fi
while read -r folder; do
    awk -v folder="$folder" '$1 == folder { line = line " " $2 }
        END { print folder (line ? " ->" line : "") }' <<<"$edges"
done <<<"$order"
