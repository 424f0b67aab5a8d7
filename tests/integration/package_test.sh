#!/usr/bin/env bash
# A package holds all that a volunteer's app needs: both apps run in an empty root, where only the
# package's files are, and the trainer trains there. The launcher follows the files that a BOINC
# client puts into a slot. Licences and bill of materials name every file, and an update downloads
# the project's own code only.
# Usage: package_test.sh PROGRAMS
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
dedloc=$programs/dedloc
output=$folder/log

# megabytes BYTES: with one digit behind the point.
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }

echo "wrong arguments"
says 2 'one of --binary and --package' "$dedloc" app package --out "$folder/none"
says 2 'there is no program' "$dedloc" app package --binary "$folder/no" --out "$folder/none"
says 2 'not a dynamically linked' "$dedloc" app package --out "$folder/none" \
    --binary "$programs/dedloc_launcher"
says 2 'holds no package' "$dedloc" app sign --package "$folder" --key "$folder/k" \
    --out "$folder/s"

for app in train aggregate; do
    package=$folder/$app
    facts=$("$dedloc" app package --binary "$programs/dedloc_$app" --out "$package" --json)
    own=$(jq .own_bytes <<<"$facts")
    echo "dedloc_$app: $(jq .files <<<"$facts") files, $(megabytes "$(jq .bytes <<<"$facts")")," \
        "of which $(megabytes "$own") own code and licences"
    [[ $own -lt 20000000 ]] || fail_test "an update is larger than 20 MB"
    # Each file is in the bill of materials once; each work has its licence as text.
    bill=$package/dedloc_$app.cdx.json
    (cd "$package" && ls) | grep -vxE 'licences.txt|.*\.cdx\.json' | LC_ALL=C sort >"$folder/files"
    jq -r '.components[].components[]?.name' "$bill" | LC_ALL=C sort \
        | diff "$folder/files" - || fail_test "the bill of materials lists other files"
    jq -e '[.components[].licenses[0].license.text.content | length > 100] | all' "$bill" \
        >/dev/null || fail_test "a licence in the bill of materials has no text"
    for text in 'GNU LESSER GENERAL PUBLIC LICENSE' 'GNU GENERAL PUBLIC LICENSE' 'libc6 2'; do
        grep -q "$text" "$package/licences.txt" || fail_test "licences.txt lacks $text"
    done
done

echo "a package runs in an empty root"
# alone APP ARGUMENT...: in a root that holds only the package, without an environment.
alone() {
    local app=$1
    shift
    env -i "$(command -v unshare)" "${become_root[@]}" --root "$folder/$app" --wd / \
        "/dedloc_${app}_launcher" "$@" 2>&1
}
become_root=()
[[ $EUID == 0 ]] || become_root=(--map-root-user)
if unshare "${become_root[@]}" --root / true 2>/dev/null; then
    for app in train aggregate; do
        [[ $(alone "$app" --version) == "dedloc_$app "* ]] || fail_test "$(alone "$app" --version)"
        alone "$app" --help | grep -q -- '--run' || fail_test "dedloc_$app --help in an empty root"
    done
    for word in {1..400}; do
        echo "It was day $word. The people of town $((word % 7)) went home."
    done >"$folder/text"
    "$dedloc" project create "$folder/p" --name test >/dev/null
    "$dedloc" corpus build --text "$folder/text" --out "$folder/c" --vocabulary 100 >/dev/null
    "$dedloc" run create --project "$folder/p" --name r --corpus "$folder/c" --model tiny \
        --steps 10 --target-batch 4 >/dev/null
    shards=("$folder"/p/runs/r/shards/*)
    cp "$folder/p/runs/r/run.json" "${shards[0]}" "$folder/train/"
    alone train local --run run.json --shard "$(basename "${shards[0]}")" --steps 2 --threads 1 \
        >"$output" || fail_test "training in an empty root"
    grep -q '^step 2' "$output" || fail_test "training in an empty root"
    echo "NVIDIA's driver is the system's"
    # with_gpu PATTERN: the trainer, told to use the GPU, prints this.
    with_gpu() {
        alone train local --run run.json --shard "$(basename "${shards[0]}")" --device cuda \
            >"$output" && fail_test "it needs no driver"
        grep -q "$1" "$output" || fail_test "it does not say: $1"
    }
    with_gpu 'no NVIDIA driver that can be loaded: libcuda.so.1: cannot open'
    system=$folder/train/usr/lib/x86_64-linux-gnu
    mkdir -p "$system"
    cp "$programs/../tests/boinc_app/device/played_drivers/libplayed_driver_12040_0_1.so" \
        "$system/libcuda.so.1"
    with_gpu 'the NVIDIA driver is too old: it supports CUDA 12.4'
    # One of a later system: any library that needs a glibc which does not exist yet.
    sed 's/GLIBC_2\.2\.5/GLIBC_9.2.5/' "$folder/train/libz.so.1" >"$system/libcuda.so.1"
    with_gpu "that can be loaded: .*version .GLIBC_9.2.5. not found"
    rm -r "$folder"/{train,aggregate}/{lib,loader}
else
    echo "skipped: this account may not change its root"
fi

echo "the launcher in a slot"
# A client's files: permanent names in the project's folder, BOINC's links in the slot.
home=$folder/"a client: data; with blanks"
mkdir -p "$home/projects/x" "$home/slots/0"
for file in "$folder"/aggregate/*; do
    name=$(basename "$file")
    mv "$file" "$home/projects/x/$name.0123456789ab"
    [[ $name == *_launcher || $name == *.json ]] \
        || echo "<soft_link>../../projects/x/$name.0123456789ab</soft_link>" \
            >"$home/slots/0/$name"
done
cd "$home/slots/0"
launcher=../../projects/x/dedloc_aggregate_launcher.0123456789ab
for start in first second; do
    [[ $("$launcher" --version) == "dedloc_aggregate "* ]] || fail_test "the $start start"
done
says 1 'a run file' "$launcher" --run 'a run file'
mkfifo run_file # which nobody writes
"$launcher" --run run_file >/dev/null 2>&1 &
disown
await 10 "the app's name in process lists" grep -q '^dedloc_aggregat$' "/proc/$!/comm"
kill -9 $!
mv dedloc_aggregate away
says 1 'there is no file dedloc_aggregate in' "$launcher" --version
mv away dedloc_aggregate
rm ld-linux-x86-64.so.2
says 1 'there is no file ld-linux-x86-64.so.2 in' "$launcher" --version
cp "$programs/dedloc_launcher" other
says 1 'it is named other instead of PROGRAM_launcher' ./other
cd "$folder"

echo "an update"
project=$folder/project
"$dedloc" project create "$project" --name update >/dev/null
"$dedloc" app add --project "$project" --binary "$programs/dedloc_aggregate"
(cd "$project/download" && ls) >"$folder/before"
mkdir "$folder/new"
cp "$programs"/dedloc_{aggregate,launcher} "$folder/new/"
echo "other code" >>"$folder/new/dedloc_aggregate" # behind all that a loader reads
"$dedloc" app add --project "$project" --binary "$folder/new/dedloc_aggregate" --version 1.1 \
    >/dev/null
"$dedloc" app list --project "$project" --json >"$folder/list"
whole=$(jq '.versions[0].download_bytes' "$folder/list")
all=$(jq '.versions[0].size_bytes' "$folder/list")
update=0 files=()
for file in "$project"/download/*; do
    name=$(basename "$file")
    # A client downloads the compressed one of two, and no bill of materials.
    if [[ $name == *.json || -e $file.gz ]] || grep -qxF "$name" "$folder/before"; then
        continue
    fi
    files+=("${name%.gz}") update=$((update + $(stat -c %s "$file")))
done
echo "a client downloads $(megabytes "$whole") of $(megabytes "$all") for the first version and" \
    "$(megabytes "$update") for the second: ${files[*]}"
[[ ${#files[@]} == 1 && ${files[0]} == dedloc_aggregate.* && $update -lt 20000000 ]] \
    || fail_test "an update downloads ${files[*]}"
[[ $((whole * 10)) -lt $((all * 6)) ]] || fail_test "$whole bytes for $all are not compressed"
