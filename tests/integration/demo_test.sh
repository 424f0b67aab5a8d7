#!/usr/bin/env bash
# The whole demo in a smaller form: stock BOINC clients train together while one of them and the
# backbone are killed with -9 and restarted, and one joins late; two of the four multiply in bf16,
# the others in fp32. Then a second demo, which Ctrl-C ends in mid-run.
# Usage: demo_test.sh PROGRAMS
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
demo=$(dirname "${BASH_SOURCE[0]}")/../../project_server/demo
output=$folder/output

# The ends of what the daemons and the volunteers' apps have logged.
show_logs() {
    local log
    for log in "$folder"/demo/project/log/*.log "$folder"/demo/volunteers/*/slots/*/stderr.txt; do
        [[ -s $log ]] || continue
        echo "--- ${log#"$folder/demo/"}"
        tail -n 40 "$log"
    done
}

echo "four volunteers, one killed, one late; the backbone killed"
steps=60
"$demo" --programs "$programs" --steps $steps --chaos --precision mixed --dir "$folder/demo" \
    >"$output" 2>&1 </dev/null &
started=$!
# computes NUMBER PATTERN: the log of a volunteer's job says so, or the demo has ended.
computes() {
    ! kill -0 "$started" 2>/dev/null \
        || grep -qsE -- "$2" "$folder/demo/volunteers/$1"/slots/*/stderr.txt
}
await 600 "a volunteer that computes in fp32" computes 1 ' on the processor, 1 thread, port'
await 600 "a volunteer that computes in bf16" computes 2 ' on the processor, 1 thread, bf16 \('
kill -0 "$started" 2>/dev/null || { show_logs; fail_test "the demo ended too early"; }
wait "$started" || { show_logs; fail_test "the demo failed"; }
none_left "the demo"
contains() { grep -qE -- "$1" "$output" || fail_test "the demo did not say: $1"; }
contains "equal at all members at $steps of $steps steps"
contains 'credit .*: they agree'
contains "^held-out +[0-9.]+ ± [0-9.]+ at step $steps on 1024 samples"
contains '^ +[0-9.]+ ± [0-9.]+ before the first step'
contains 'killed volunteer-1 with -9'
contains 'started volunteer-1 again'
contains 'attached volunteer-4, a newcomer'
contains 'killed the backbone with -9'
contains 'the backbone is back'
contains '^state +[0-9a-f]{64} after step '$steps'$'
fall=$(sed -n 's/.*down by \(-\{0,1\}[0-9.]*\)$/\1/p' "$output")
awk -v fall="$fall" 'BEGIN { exit !(fall > 0.5) }' || fail_test "the loss fell by $fall only"
# The project's own figures: the model is better than the untrained one on text that is new to it.
measured=$(sed -nE 's/^held-out +([0-9.]+) .*/\1/p' "$output")
untrained=$(sed -nE 's/^ +([0-9.]+) ± .*before the first step.*/\1/p' "$output")
awk -v new="$measured" -v old="$untrained" 'BEGIN { exit !(new < old - 0.5) }' \
    || fail_test "the held-out loss is $measured, and was $untrained before the first step"
for number in 1 2 3 4; do
    awk -v user="volunteer-$number" '$2 == user && $3 > 0 { found = 1 } END { exit !found }' \
        "$output" || fail_test "volunteer-$number has no credit"
done

tickets=$(grep -c 'ticket for .*, reachable' "$folder/demo/project/log/dedloc-gateway.log" || true)
[[ $tickets -ge 4 ]] || fail_test "the gateway gave $tickets tickets to four volunteers"

echo "a seat without a ticket is one sentence"
run=$(echo "$folder"/demo/project/runs/*)
shards=("$run"/shards/*)
status=0
(cd "$folder" && "$programs/dedloc_train" --run "$run/run.json" --shard "${shards[0]}") \
    >"$output" 2>&1 </dev/null || status=$?
[[ $status == 1 ]] || fail_test "without a ticket the app ended with $status, not 1"
contains 'wants a ticket, and there is no BOINC client to get one through'

echo "Ctrl-C in the middle stops everything"
env --default-signal=INT "$demo" --programs "$programs" --steps 1000 --volunteers 1 \
    --dir "$folder/stopped" >"$output" 2>&1 </dev/null &
started=$!
attached() { grep -q 'Watch them at' "$output" || ! kill -0 "$started" 2>/dev/null; }
await 120 "a volunteer to attach" attached
sleep 2 # a moment between attaching and the first steps, as a user would choose it
kill -INT "$started"
status=0
wait "$started" || status=$?
[[ $status == 130 ]] || fail_test "the demo ended with $status, not 130, after Ctrl-C"
none_left "the demo after Ctrl-C"
