#!/usr/bin/env bash
# A project whose backbone is away while stock BOINC clients train: killed with -9 at random
# moments, paused and resumed, stopped with the whole project and started again. Nothing is decided
# meanwhile, no step is lost, the ledger has no gap, and in the end credit is samples × rate.
# The run has overlap: volunteers compute while a round is on its way.
# Usage: backbone_away_test.sh PROGRAMS [SECONDS...]
#   SECONDS: lengths of the absences after each kill (1 10). A volunteer joins during the longest.
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
use_volunteers "$1"
shift
absences=("$@")
[[ ${#absences[@]} -gt 0 ]] || absences=(1 10)

# Steps between two events, and at the end, so that restarted peers contribute.
between=5
steps=$((between * (${#absences[@]} + 4)))

bible_text >"$folder/text"
"$dedloc" project create "$project" --name Away --contact-seconds 10 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" >/dev/null
add_trainer
"$dedloc" run create --project "$project" --name away --corpus "$folder/corpus" --model tiny \
    --overlap --steps "$steps" --evaluate-every 0 >/dev/null
grep -q '"overlap":true' "$project/runs/away/run.json" || fail_test "no overlap in run.json"
start_project
pid_file=$project/pids/dedloc-backbone-away.pid
log=$project/log/dedloc-backbone-away.log
output=$log # which a failure prints

# The steps in its log, one a line. A step is logged when its members have reported the same state.
logged() { { grep -o ' step [0-9]*: loss' "$log" || true; } 2>/dev/null | tr -dc '0-9\n'; }
step() {
    local last
    last=$(logged | tail -n 1)
    echo "${last:-0}"
}
has_step() { [[ $(step) -ge $1 ]]; }
is_backbone_new() { [[ -s $pid_file && $(<"$pid_file") != "$1" ]]; }

# returns EVENT COMMAND...: the backbone is away and COMMAND restarts it; then commits continue
# where they stopped. The last commit before may have no line in the log.
returns() {
    local event=$1 began count=0 before next
    shift
    before=$(step) count=$(logged | wc -l)
    began=$(milliseconds)
    "$@" >/dev/null
    goes_on() { [[ $(logged | wc -l) -gt $count ]]; }
    await 60 "a commit after it was $event" goes_on
    echo "$event at step $before: first commit $(($(milliseconds) - began)) ms after its return"
    next=$(logged | sed -n "$((count + 1))p")
    [[ $next == "$((before + 1))" || $next == "$((before + 2))" ]] \
        || fail_test "from step $before it went on to $next"
}

for number in 1 2; do add_volunteer "$number" "$url"; done
await 120 "the first steps" has_step 2
"$dedloc" run status --project "$project" --name away --follow >"$folder/followed" 2>&1 &
follower=$!

longest=$(printf '%s\n' "${absences[@]}" | sort -n | tail -n 1) newcomer=
for away in "${absences[@]}"; do
    await 120 "more steps" has_step $(($(step) + between))
    sleep "0.$((RANDOM % 1000 + 1000))" # a random moment of a round
    backbone=$(<"$pid_file")
    supervisor=$(<"$project/pids/supervisor.pid")
    kill -STOP "$supervisor" # it would restart the backbone at once
    kill -KILL "$backbone"
    if [[ $away == "$longest" && -z $newcomer ]]; then
        newcomer=3
        add_volunteer $newcomer "$url"
    fi
    sleep "$away"
    returns "killed with -9 and away for $away s" kill -CONT "$supervisor"
    is_backbone_new "$backbone" || fail_test "the backbone was not killed"
done

await 120 "more steps" has_step $(($(step) + between))
backbone=$(<"$pid_file")
"$dedloc" run pause --project "$project" --name away >/dev/null
# A round that has been called ends.
is_calm() {
    local before
    before=$(logged | wc -l)
    sleep 5
    [[ $(logged | wc -l) == "$before" ]]
}
await 60 "the pause" is_calm
! is_backbone_new "$backbone" || fail_test "the backbone ended with the pause"
returns "paused" "$dedloc" run resume --project "$project" --name away

await 120 "more steps" has_step $(($(step) + between))
"$dedloc" project stop "$project" >/dev/null
sleep 5
returns "stopped with the project" "$dedloc" project start "$project"

await 240 "the end" has_step "$steps"
"$dedloc" run wait --project "$project" --name away --timeout 2400
wait "$follower" || fail_test "the view ended early: $(tail -n 1 "$folder/followed")"
[[ $(grep -c '^step ' "$folder/followed") == "$steps" ]] || fail_test "the view left out steps"
grep -q 'the backbone of the run away does not answer' "$folder/followed" \
    || fail_test "the view said nothing"
"$dedloc" leaderboard --project "$project" >"$folder/leaders"
cat "$folder/leaders"
"$dedloc" run report --project "$project" --name away | tee "$folder/report"
grep -q "equal at all members at $steps of $steps steps" "$folder/report" \
    || fail_test "steps differ"
grep -q "they agree" "$folder/report" || fail_test "credit differs"
for number in 1 2 3; do
    awk -v user="volunteer-$number" '$2 == user && $3 > 0 { found = 1 } END { exit !found }' \
        "$folder/leaders" || fail_test "volunteer-$number has no credit"
done
repeated=$(logged | sort -n | uniq -d)
[[ -z $repeated ]] || fail_test "steps were decided twice: $repeated"
if grep -h 'generation [0-9]* begins\|aborted\|check failed' "$log"; then
    fail_test "the backbone did not simply continue"
fi
kill_all TERM "${clients[@]}"
gone 20 "${clients[@]}" || true
"$dedloc" project stop "$project" >/dev/null
none_left "the project"
