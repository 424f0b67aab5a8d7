#!/usr/bin/env bash
# `dedloc corpus build` killed with -9 at random moments, interrupted, and on a full disk: the
# folder appears only when it is complete, the same command goes on, and errors are one sentence.
# Usage: corpus_cli_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
dedloc=$1/dedloc

bible_text >"$folder/text"
build() { "$dedloc" corpus build --text "$folder/text" --shard-tokens 60000 "$@"; }
left() { find "$folder" -mindepth 1 -maxdepth 1 -name '*building*'; }

echo "the Bible: a document for each chapter"
build --out "$folder/whole" 2>"$folder/errors" | grep -q ': 1189 documents (' \
    || fail_test "not one document for each chapter"
! grep divided "$folder/errors" || fail_test "a warning: $(<"$folder/errors")"

echo "killed with -9 at random moments"
for kill in 1 2 3 4 5 6; do
    "$dedloc" corpus build --text "$folder/text" --shard-tokens 60000 --out "$folder/killed" \
        >/dev/null 2>&1 &
    builder=$!
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    kill -9 "$builder" 2>/dev/null || true
    wait "$builder" 2>/dev/null || true
    [[ -e $folder/killed ]] || continue
    break
done
[[ -e $folder/killed ]] || build --out "$folder/killed" >/dev/null
diff -r "$folder/whole" "$folder/killed" || fail_test "a build after kill -9 has other bytes"
[[ -z $(left) ]] || fail_test "kill -9 left $(left)"

echo "Ctrl-C"
# Many small shards of a long text: the signal comes long before the last, which four copies take
# seconds to reach.
for word in so many books read; do
    sed "/./s/\$/ $word/" "$folder/text"  # two equal copies would be refused
done >"$folder/long"
build_long() {
    exec env --default-signal=INT "$dedloc" corpus build --text "$folder/long" \
        --shard-tokens 20000 --tokenizer "$folder/whole/tokenizer.model" --out "$1"
}
build_long "$folder/stopped" >/dev/null 2>"$folder/errors" &
builder=$!
has_shard() { compgen -G "$folder/.stopped.building/shard-*" >/dev/null; }
await 60 "the first shard" has_shard
kill -INT "$builder"
status=0
wait "$builder" || status=$?
[[ $status == 130 ]] || fail_test "status $status after Ctrl-C"
grep -q 'the same command goes on' "$folder/errors" || fail_test "$(<"$folder/errors")"
[[ ! -e $folder/stopped ]] || fail_test "an unfinished corpus appeared"
says 2 'exists already' build --out "$folder/whole"
(build_long "$folder/stopped" >/dev/null)
(build_long "$folder/never_stopped" >/dev/null)
diff -r "$folder/never_stopped" "$folder/stopped" \
    || fail_test "a build after Ctrl-C has other bytes"
rm -r "$folder/long" "$folder/stopped" "$folder/never_stopped"

echo "a full disk"
# Shards of the whole text need 3 MB.
full_disk='mount -t tmpfs -o size=2m tmpfs "$1" || exit 98
    "$2" corpus build --text "$3" --shard-tokens 60000 --tokenizer "$4" --out "$1/c" \
        2>"$5.errors" && exit 97
    tail -n 1 "$5.errors"
    [[ $(ls -A "$1") == .c.building ]] || exit 96
    mount -o remount,size=20m "$1" || exit 95
    "$2" corpus build --text "$3" --shard-tokens 60000 --tokenizer "$4" --out "$1/c" \
        >/dev/null 2>&1 || exit 94
    diff -r "$5" "$1/c" >/dev/null || exit 93'
mkdir "$folder/small"
if unshare --mount --map-root-user true 2>/dev/null; then
    says 0 'No space left on device; the same command goes on' \
        unshare --mount --map-root-user bash -c "$full_disk" _ "$folder/small" "$dedloc" \
        "$folder/text" "$folder/whole/tokenizer.model" "$folder/whole"
else
    echo "  (not looked at: this user may not mount a small disk)"
fi

echo "what cannot be a corpus"
says 2 'not UTF-8 text: it has the byte 0x00 at offset' \
    "$dedloc" corpus build --text "$dedloc" --out "$folder/c"
says 2 'a regular file' "$dedloc" corpus build --text "$folder" --out "$folder/c"
says 2 'No such file' "$dedloc" corpus build --text "$folder/none" --out "$folder/c"
says 2 'is not a SentencePiece model' build --tokenizer "$folder/text" --out "$folder/c"
says 2 'excludes' build --tokenizer "$folder/text" --vocabulary 500 --out "$folder/c"
says 2 'there is no language' build --language xx --out "$folder/c"
says 2 'not in' build --documents chapters --out "$folder/c"
touch "$folder/empty"
says 2 'contains no sentence' "$dedloc" corpus build --text "$folder/empty" --out "$folder/c"
says 2 'is not JSON: ' build --documents jsonl --out "$folder/c"
[[ ! -e $folder/c && -z $(left) ]] || fail_test "a refused text left something"

echo "lines of JSON"
# awk reads the file itself: in a pipe to head, its end could fail the test.
awk 'NF { gsub(/"/, ""); print "{\"text\": \"" $0 " And so it was. It ended.\"}" }
    NF && ++n == 2000 { exit }' "$folder/text" >"$folder/text.jsonl"
summary=$("$dedloc" corpus build --text "$folder/text.jsonl" --out "$folder/json" 2>/dev/null)
[[ $summary == *": 2000 documents ("* ]] || fail_test "not one document for each line: $summary"

echo "a tokenizer of its own rules"
head -n 4000 "$folder/text" >"$folder/part"
train() { "$dedloc" corpus train-tokenizer --text "$folder/part" --out "$folder/own" "$@"; }
says 2 'no step .nfx. of a normaliser' train --normalise nfx
says 2 'no division .words.' train --divide words
says 2 'FROM=TO' train --normalise text:a
says 2 'cannot be used' train --normalise 'regex:(a=b'
says 2 'too small for a vocabulary' train --vocabulary 60000
[[ ! -e $folder/own && -z $(left) ]] || fail_test "a refused tokenizer left something"
train --vocabulary 500 --normalise nmt nfkc 'text:lord=King' 'regex:(?<=[a-z]):= :' lower-case \
    | grep -q ': 500 pieces from ' || fail_test "no tokenizer"
tokenize() { "$dedloc" corpus tokenize --tokenizer "$@"; }
[[ $(echo 'the King: 12' | tokenize "$folder/own") == \
    $(echo 'THE lord : 12' | tokenize "$folder/own/tokenizer.json") ]] \
    || fail_test "the rules do not count"
[[ $(echo | tokenize "$folder/own" --special) == "2 3" ]] || fail_test "no [CLS] and [SEP]"
"$dedloc" corpus build --text "$folder/part" --tokenizer "$folder/own/tokenizer.json" \
    --out "$folder/from_json" >/dev/null
cmp "$folder/own/tokenizer.json" "$folder/from_json/tokenizer.json"
[[ ! -e $folder/from_json/tokenizer.model ]] || fail_test "a SentencePiece model from nowhere"
jq -e '.rules.is_whole and .rules.lower_case and .vocabulary == 500' \
    "$folder/from_json/corpus.json" >/dev/null || fail_test "corpus.json: no is_whole"
sed 's/"NFKC"/"ByteLevel"/' "$folder/own/tokenizer.json" >"$folder/bytes.json"
says 2 "bytes.json: the normalizer 'ByteLevel' is not implemented" \
    build --tokenizer "$folder/bytes.json" --out "$folder/c"
echo '[' >"$folder/bytes.json"
says 2 'is not JSON' build --tokenizer "$folder/bytes.json" --out "$folder/c"
says 2 'line 1: is not UTF-8' tokenize "$folder/own" "$folder/whole/shard-"*

echo "pictures"
"$1/make_picture_seeds" "$folder/images" # 20 of them in the folder picture
album() { "$dedloc" corpus build --images "$folder/images" --shard-bytes 2000 "$@"; }
echo "no picture" >"$folder/images/picture/page.jpg"
album --out "$folder/album" >"$folder/summary" 2>"$folder/errors"
grep -q ': 20 pictures (.* 20 of 1 classes) of .* smallest side 19, 0 duplicates' \
    "$folder/summary" || fail_test "$(<"$folder/summary")"
grep -q 'dedloc: 1 file refused (1 not a picture); .*/refused.txt says why' "$folder/errors" \
    || fail_test "$(<"$folder/errors")"
"$dedloc" corpus show "$folder/album" --json | jq -e \
    '.holds == "pictures" and .pictures == 20 and .classes == 1 and .smallest_side == 19' \
    >/dev/null || fail_test "corpus show: $("$dedloc" corpus show "$folder/album")"
"$dedloc" corpus show "$folder/json" --json | jq -e '.holds == "text" and .documents == 2000' \
    >/dev/null || fail_test "corpus show: $("$dedloc" corpus show "$folder/json")"
says 2 'exists already' album --out "$folder/album"
says 2 'and --vocabulary is for text' album --out "$folder/c" --vocabulary 500
says 2 'and --text is for text' album --out "$folder/c" --text "$folder/text"
says 2 'cannot list .*: No such file' "$dedloc" corpus build --images "$folder/no" --out "$folder/c"
says 2 'say what to build from' "$dedloc" corpus build --out "$folder/c"
says 2 'is for a corpus of pictures' build --shard-bytes 2000 --out "$folder/c"
[[ ! -e $folder/c && -z $(left) ]] || fail_test "a refused folder left something"
none_left "the test"
