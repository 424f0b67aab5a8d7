#!/usr/bin/env bash
# `dedloc-evaluate` by hand and `dedloc_train local`: errors are one sentence, both print the same
# figures for the same state, a model that has trained is better, training goes on from a checkpoint
# and on a list's samples, and a state that no ledger proves is exported with a note that says so.
# Usage: evaluate_cli_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
dedloc=$1/dedloc
evaluate=$1/dedloc-evaluate
train=$1/dedloc_train

"$dedloc" project create "$folder/p" --name test >/dev/null
bible_text | sed -n 1,3000p >"$folder/text"
"$dedloc" corpus build --text "$folder/text" --out "$folder/c" --vocabulary 500 --held-out 0.1 \
    >/dev/null
"$dedloc" run create --project "$folder/p" --name r --corpus "$folder/c" --steps 100 \
    --target-batch 32 >/dev/null
run=$folder/p/runs/r
shards=("$run"/shards/*)
held_out=("$run"/held_out/*)
of_run=(--run "$run/run.json" --held-out "$run/held_out" --threads 1)

echo "wrong arguments and files"
says 2 'project, or --run with --held-out' "$evaluate"
says 2 'requires --held-out' "$evaluate" --run "$run/run.json"
says 2 'requires --run' "$evaluate" --json
says 2 'excludes' "$evaluate" --project "$folder/p" "${of_run[@]}"
says 2 'checkpoint, --state or --initial' "$evaluate" "${of_run[@]}"
says 2 'excludes' "$evaluate" "${of_run[@]}" --initial --state "$folder/text"
says 2 'samples' "$evaluate" "${of_run[@]}" --initial --samples 0
says 2 'No such file' "$evaluate" --run "$folder/none" --held-out "$folder" --initial
says 2 'No such file' "$evaluate" --run "$run/run.json" --held-out "$folder" --initial
says 2 'is not a checkpoint' "$evaluate" "${of_run[@]}" --checkpoint "$folder/text"
says 1 'none' "$evaluate" "${of_run[@]}" --checkpoint "$folder/none"
says 2 'its whole states' "$evaluate" "${of_run[@]}" --state "$folder/text"
says 2 'there is no ledger' "$evaluate" "${of_run[@]}" --initial --ledger "$folder/none"
says 2 'config.xml' "$evaluate" --project "$folder"
"$evaluate" --help | grep -q -- '--held-out' || fail_test "no help"
says 1 'it is held out' "$train" local --run "$run/run.json" --shard "${held_out[0]}"

echo "a model that diverges is given up"
"$dedloc" run create --project "$folder/p" --name wild --corpus "$folder/c" --steps 1000 \
    --target-batch 4 --optimizer sgd --learning-rate 1000 --warmup 0 --clip-norm 0 >/dev/null
status=0
"$train" local --run "$folder/p/runs/wild/run.json" --shard "$folder"/p/runs/wild/shards/* \
    --threads 1 >"$folder/log" 2>"$folder/error" || status=$?
[[ $status == 1 ]] || fail_test "a model that diverges: status $status"
grep -q 'the gradient is not finite' "$folder/log" || fail_test "$(tail -n 3 "$folder/log")"
grep -q 'the model has diverged; a lower learning rate' "$folder/error" \
    || fail_test "$(<"$folder/error")"

echo "a model that trains in one process is measured on the way"
# Digests are compared, so the precision is not chosen by a trial.
"$train" local --precision fp32 --run "$run/run.json" --shard "${shards[0]}" --steps 12 \
    --threads 1 --held-out "$run/held_out" --evaluate-every 6 --evaluate-samples 200 \
    --out "$folder/own.state" >"$folder/log" || fail_test "local: $(<"$folder/log")"
[[ $(grep -c '^step [0-9]*: held-out loss' "$folder/log") == 3 ]] || fail_test "$(<"$folder/log")"
# loss STEP: the loss that was printed for this step.
loss() { sed -n "s/^step $1: held-out loss \([0-9.]*\) .*/\1/p" "$folder/log"; }
awk -v first="$(loss 0)" -v last="$(loss 12)" 'BEGIN { exit !(last < first - 0.3) }' \
    || fail_test "from $(loss 0) to $(loss 12)"
digest=$(sed -n 's/^state \([0-9a-f]*\) after step 12$/\1/p' "$folder/log")
grep -q 'own.state, which no ledger proves' "$folder/log" || fail_test "$(<"$folder/log")"

echo "training goes on from a checkpoint, and on the samples of a list"
alone() {
    "$train" local --precision fp32 --run "$run/run.json" --shard "${shards[0]}" --threads 1 "$@"
}
# prints PATTERN FILE: a line of the file matches.
prints() { grep -q -- "$1" "$2" || fail_test "no '$1' in: $(<"$2")"; }
alone --steps 5 --out "$folder/five.state" >/dev/null
alone --from "$folder/five.state" --steps 12 >"$folder/out" || fail_test "$(<"$folder/out")"
prints "^state $digest after step 12$" "$folder/out"
zeros=$(printf '%064d' 0)
for step in {0..11}; do echo "$step $zeros 32"; done >"$folder/list"
alone --contributions "$folder/list" >"$folder/out" || fail_test "$(<"$folder/out")"
prints "^state $digest after step 12$" "$folder/out"
sed -i '8s/ 32$/ 16/; 8p; 8s/ 0000/ 1000/' "$folder/list"  # two peers in step 7
alone --contributions "$folder/list" --from "$folder/five.state" --steps 8 >"$folder/out" \
    || fail_test "$(<"$folder/out")"
prints '^step 8: .*, 32 samples' "$folder/out"
says 1 'is not a checkpoint' alone --from "$folder/text"
says 1 'none: No such file' alone --from "$folder/none"
says 1 'line 1 of .*text has no step' alone --contributions "$folder/text"
cp "$folder/five.state" "$folder/bad.state"
printf 'x' >>"$folder/bad.state"
says 1 'is not a whole state of run r' alone --from "$folder/bad.state"
head -c -1 "$folder/bad.state" >"$folder/altered.state"
printf 'x' | dd of="$folder/altered.state" bs=1 seek=1000 conv=notrunc status=none
says 1 'is damaged: its bytes are not the state' alone --from "$folder/altered.state"
sed -i 7d "$folder/list"
status=0
alone --from "$folder/five.state" --contributions "$folder/list" >"$folder/out" \
    2>"$folder/error" || status=$?
[[ $status == 1 ]] || fail_test "a list without a step: status $status"
prints 'list has no contribution to step 6$' "$folder/error"

echo "precisions: bf16 repeats its bits; a processor without units for bf16 computes in fp32"
for again in 1 2; do
    "$train" local --precision bf16 --run "$run/run.json" --shard "${shards[0]}" --threads 1 \
        --steps 3 >"$folder/bf16.$again" || fail_test "bf16: $(<"$folder/bf16.$again")"
done
prints '^on the processor, 1 thread, bf16 (2 layers take .* ms in bf16)$' "$folder/bf16.1"
state_of() { grep '^state .* after step 3$' "$1" || fail_test "no state in $(<"$1")"; }
[[ $(state_of "$folder/bf16.1") == "$(state_of "$folder/bf16.2")" ]] \
    || fail_test "bf16 gives other bits: $(state_of "$folder/bf16.1") $(state_of "$folder/bf16.2")"
alone --steps 3 >"$folder/fp32"
[[ $(state_of "$folder/bf16.1") != "$(state_of "$folder/fp32")" ]] || fail_test "bf16 is fp32"
# As the libraries of matrix products see a processor of 2013, bf16 is emulated, and much slower.
ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 "$train" local --run "$run/run.json" \
    --shard "${shards[0]}" --threads 1 --steps 1 >"$folder/old"
took='2 layers take .* in bf16, .* in fp32'
prints "^on the processor, 1 thread, fp32 ($took; about .* samples/s in micro-batches of [0-9]*)$" \
    "$folder/old"

echo "what a trial has chosen gives its bits again"
"$train" local --run "$run/run.json" --shard "${shards[0]}" --threads 1 --steps 3 \
    >"$folder/chosen" || fail_test "auto: $(<"$folder/chosen")"
read -r precision micro_batch < <(sed -n \
    "s/^on the processor, 1 thread, \(....\) ($took; .* in micro-batches of \([0-9]*\))$/\1 \2/p" \
    "$folder/chosen")
"$train" local --precision "$precision" --micro-batch "$micro_batch" --run "$run/run.json" \
    --shard "${shards[0]}" --threads 1 --steps 3 >"$folder/again" || fail_test "$(<"$folder/again")"
[[ $(state_of "$folder/chosen") == "$(state_of "$folder/again")" ]] \
    || fail_test "other bits: $(state_of "$folder/chosen") $(state_of "$folder/again")"

echo "a disk that is too full for the last state"
ln -s /dev/full "$folder/full.state.tmp"
status=0
"$train" local --run "$run/run.json" --shard "${shards[0]}" --steps 1 --threads 1 \
    --out "$folder/full.state" >"$folder/out" 2>"$folder/error" || status=$?
[[ $status == 1 && $(wc -l <"$folder/error") == 1 ]] || fail_test "$status: $(<"$folder/error")"
grep -q 'full.state: No space left on device' "$folder/error" || fail_test "$(<"$folder/error")"
[[ ! -e $folder/full.state ]] || fail_test "half a state"

echo "the same figures by hand"
hand() { "$evaluate" "${of_run[@]}" --samples 200 "$@"; }
hand --checkpoint "$folder/own.state" >"$folder/text.12"
prints "^run r: step 12 of 100, state $digest$" "$folder/text.12"
prints '^not checked against a ledger$' "$folder/text.12"
prints "^held-out loss  *$(loss 12) " "$folder/text.12"
tail -c +105 "$folder/own.state" >"$folder/numbers"
hand --state "$folder/numbers" >"$folder/text.numbers"
diff <(grep -v measured "$folder/text.12" | tail -n +3) \
    <(grep -v measured "$folder/text.numbers" | tail -n +3) || fail_test "numbers differ"
json=$(hand --initial --json)
[[ $json == *'"step":0,'*'"is_proven":false,'*'"samples":200,'* ]] || fail_test "$json"
hand --initial >"$folder/text.0"
prints "^held-out loss  *$(loss 0) " "$folder/text.0"

echo "what the ledger says"
"$1/dedloc-backbone" --project "$folder/p" --run r --no-database 2>/dev/null &
backbone=$!
has_ledger() { [[ -s $run/ledger ]]; }
await 60 "a ledger of the run" has_ledger
kill "$backbone"
wait "$backbone" || fail_test "the backbone failed"
hand --checkpoint "$folder/own.state" --ledger "$run/ledger" >"$folder/text.12"
prints '^not proven: the ledger ends at step 0$' "$folder/text.12"
hand --initial --ledger "$run/ledger" >"$folder/text.0"
prints '^not proven yet: the ledger ends' "$folder/text.0"
hand --state "$folder/numbers" --ledger "$run/ledger" >"$folder/text.numbers"
prints '^not proven: the file says neither' "$folder/text.numbers"
printf 'x' >"$folder/none.ledger"
"$dedloc" run contributions --project "$folder/p" --name r >"$folder/out"
[[ ! -s $folder/out ]] || fail_test "contributions of a run without steps: $(<"$folder/out")"
says 2 'name a run' "$dedloc" run contributions
says 1 'none.ledger' hand --checkpoint "$folder/own.state" --ledger "$folder/none.ledger"

echo "an unproven state is exported, and its card says so"
says 0 'exported step 12 of r: .*not proven by the ledger' "$dedloc" run export \
    --project "$folder/p" --name r --checkpoint "$folder/own.state" "$folder/model"
prints '^## Not proven' "$folder/model/README.md"

echo "damaged held-out shards"
cp "${held_out[0]}" "$folder/shard"
printf 'x' >>"${held_out[0]}"
says 2 'it is cut off or another file' hand --initial
cp "$folder/shard" "${held_out[0]}"
printf 'x' | dd of="${held_out[0]}" bs=1 seek=60 conv=notrunc status=none
says 2 'it is altered' hand --initial
none_left "the test"
