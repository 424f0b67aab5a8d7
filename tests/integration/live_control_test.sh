#!/usr/bin/env bash
# Three stock BOINC clients train in three runs of one project, two of which each takes part in. The
# administrator pauses, resumes, bans, appoints, dismisses and exports meanwhile. For each command
# the time from its start until its effect is seen is printed. Then the runs end, with equal digests
# at all members, and each counts its own users, jobs and samples only.
# Usage: live_control_test.sh PROGRAMS
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
use_volunteers "$1"
runs=(first second third) # with 3, 2 and 1 volunteers
steps=160
# control COMMAND...: a command on this project.
control() { "$dedloc" "$@" --project "$project"; }

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name Control --contact-seconds 5 >/dev/null
sed -i "s|\(<max_wus_in_progress>\)1<|\12<|" "$project/config.xml"
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null
# A version without a plan class takes one core, so a computer can have two jobs at a time.
add_trainer --plan-class ''
ready=3
for run in "${runs[@]}"; do
    control run create --name "$run" --corpus "$folder/corpus" --model tiny --target-batch 12 \
        --steps "$steps" --evaluate-every 0 >/dev/null
    control run jobs --name "$run" --ready $((ready--)) >/dev/null
done
start_project

# The server sends the oldest jobs first: three of `first`, then two of `second` and one of `third`.
# A client requests as many as it has idle cores. So with one core each gets a job of `first`.
volunteer_cores=2 volunteer_arguments="--micro-batch 4"
have_jobs() { [[ $("$dedloc" project status "$project" --json | jq .jobs.in_progress) == "$1" ]]; }
for number in 1 2 3; do
    add_volunteer "$number" "$url"
    prefer "$number" max_ncpus_pct 50
done
await 120 "a job for each volunteer" have_jobs 3
for number in 1 2 3; do prefer "$number" max_ncpus_pct 100; done
await 60 "two jobs for each volunteer" have_jobs 6
for number in 1 2 3; do gui_rpc "$volunteers_dir/$number" --project "$url" nomorework; done
# A run makes steps only while a part of this test needs them, so that none ends too early.
rest() { local run; for run in "$@"; do control run pause --name "$run" >/dev/null; done; }
go_on() { local run; for run in "$@"; do control run resume --name "$run" >/dev/null; done; }
rest "${runs[@]}" # until all volunteers are there

# --- Logs of the apps. `members`: numbers of a run's volunteers; `logs`: by run and volunteer.
declare -A members=() logs=()
find_members() { # RUN COUNT
    local number file
    members[$1]=
    for number in 1 2 3; do
        file=$(grep -ls "takes a seat in run $1 " "$volunteers_dir/$number"/slots/*/stderr.txt) \
            || continue
        logs[$1-$number]=$file
        members[$1]+=" $number"
    done
    [[ $(wc -w <<<"${members[$1]}") == "$2" ]]
}
peers() { control run status --name "$1" --json | jq .peers; }
peers_are() { [[ $(peers "$1") == "$2" ]]; }
wanted=3
for run in "${runs[@]}"; do
    await 180 "$wanted volunteers in $run" find_members "$run" "$wanted"
    await 60 "$wanted peers in $run" peers_are "$run" "$wanted"
    wanted=$((wanted - 1))
done
for run in "${runs[@]}"; do echo "volunteers in $run:${members[$run]}"; done

# lines LOG PATTERN: how many match. line LOG PATTERN NUMBER: one of them, counted from 0.
lines() { grep -cE "$2" "$1" || true; }
line() { grep -E "$2" "$1" | sed -n "$(($3 + 1))p"; }
has_more() { [[ $(lines "$1" "$2") -gt $3 ]]; }
# begin COMMAND...: runs it, and notes when it began and how long it took.
begin() {
    began=$(milliseconds)
    control "$@" >"$folder/answer"
    answered=$(($(milliseconds) - began))
}
# seen WHAT LINE: prints when the log line that shows the effect was written. On a busy machine it
# took 17 s; tests/bench/RESULTS.md has the times of a quiet one.
max_milliseconds=60000
seen() {
    local moment after
    moment=$(date -d "${2:0:23}" +%s%3N)
    after=$((moment > began ? moment - began : 0))
    echo "$1: answered after $answered ms, seen after $after ms"
    [[ $after -lt $max_milliseconds ]] || fail_test "$1: only after $after ms"
}
# `safe` is in `first` and `second`, and no ban names it; `lone` is in `first` and `third`.
read -r safe keyed <<<"${members[second]}"
lone=${members[third]# }
# run_log RUN: the log of one of its volunteers.
run_log() { echo "${logs[$1-$safe]:-${logs[$1-$lone]}}"; }
committed=' committed: '
contributes=' committed: .* members, [1-9][0-9]* ours'
more_steps() { # RUN COUNT
    await 60 "steps of $1" has_more "$(run_log "$1")" "$committed" \
        $(($(lines "$(run_log "$1")" "$committed") + $2 - 1))
}

# --- Pauses.
# app RUN NUMBER: process id of the app.
app() {
    local pid
    for pid in $(process_tree "${clients[$2]}"); do
        [[ $(readlink "/proc/$pid/cwd") != "${logs[$1-$2]%/*}" ]] || echo "$pid"
    done
}
ticks_of_members() {
    local number sum=0
    for number in ${members[$1]}; do sum=$((sum + $(ticks "$(app "$1" "$number")"))); done
    echo "$sum"
}
# is_calm RUN: for a second no step is committed, and each app uses at most 5 % of a core.
is_calm() {
    local before ticks count
    before=$(lines "$(run_log "$1")" "$committed") ticks=$(ticks_of_members "$1")
    sleep 1
    ticks=$(($(ticks_of_members "$1") - ticks)) count=$(wc -w <<<"${members[$1]}")
    [[ $(lines "$(run_log "$1")" "$committed") == "$before" && $ticks -le $((5 * count)) ]]
}
pause() {
    begin run pause --name "$1"
    await 20 "$1 to rest" is_calm "$1"
    seen "pause $1, last step" "$(grep "$committed" "$(run_log "$1")" | tail -n 1)"
}
resume() {
    local before
    before=$(lines "$(run_log "$1")" "$committed")
    begin run resume --name "$1"
    await 20 "a step of $1" has_more "$(run_log "$1")" "$committed" "$before"
    seen "resume $1, next step" "$(line "$(run_log "$1")" "$committed" "$before")"
}
for run in "${runs[@]}"; do resume "$run"; done
for run in "${runs[@]}"; do more_steps "$run" 2; done
for run in "${runs[@]}"; do
    pause "$run"
    resume "$run"
done
rest second

# --- Bans. check_ban KIND SUBJECT SEAT...: each seat (RUN-NUMBER) loses its links and, when the ban
# is withdrawn, contributes again.
check_ban() {
    local kind=$1 subject=$2 seat
    shift 2
    declare -A before=()
    for seat in "$@"; do before[$seat]=$(lines "${logs[$seat]}" 'has revoked our ticket'); done
    begin "$kind" ban --reason "a test" "$subject"
    for seat in "$@"; do
        await 20 "the ban of $seat" has_more "${logs[$seat]}" 'has revoked our ticket' \
            "${before[$seat]}"
        seen "$kind ban, link of $seat closed" \
            "$(line "${logs[$seat]}" 'has revoked our ticket' "${before[$seat]}")"
    done
    for seat in "$@"; do
        await 20 "the peers of ${seat%-*}" peers_are "${seat%-*}" \
            $(($(wc -w <<<"${members[${seat%-*}]}") - 1))
    done
    # A round that was under way may still be decided, with what the seat has contributed to it.
    [[ $1 == third-* ]] || more_steps "${1%-*}" 1
    for seat in "$@"; do before[$seat]=$(lines "${logs[$seat]}" "$contributes"); done
    [[ $1 == third-* ]] || more_steps "${1%-*}" 2
    for seat in "$@"; do
        ! has_more "${logs[$seat]}" "$contributes" "${before[$seat]}" \
            || fail_test "$seat contributes while it is banned"
    done
    begin "$kind" unban "$subject"
    for seat in "$@"; do
        await 60 "$seat to contribute" has_more "${logs[$seat]}" "$contributes" "${before[$seat]}"
        seen "$kind unban, contribution of $seat counted" \
            "$(line "${logs[$seat]}" "$contributes" "${before[$seat]}")"
    done
}
# Ids of accounts and computers ascend in the order in which the clients were attached.
check_ban host "$lone" "first-$lone" "third-$lone"
check_ban user "volunteer-$lone" "first-$lone" "third-$lone"
rest first third
go_on second
# A key stands for one seat: the volunteer's other one keeps its links.
brief=$(sed -n 's/.*peer \([0-9a-f]*\) takes a seat.*/\1/p' "${logs[second-$keyed]}" | tail -n 1)
other=$(lines "${logs[first-$keyed]}" 'has revoked our ticket')
check_ban key "$(sql "select peer_key from dedloc_ticket where peer_key like '$brief%'")" \
    "second-$keyed"
[[ $(lines "${logs[first-$keyed]}" 'has revoked our ticket') == "$other" ]] \
    || fail_test "the ban of a key has closed a link of another one"

# --- Voters.
backbone=$project/log/dedloc-backbone-second.log
generation=' generation [0-9]+ with [0-9] voters begins'
voters_become() { # WHAT: the next generation of `second` begins
    await 60 "$1" has_more "$backbone" "$generation" "$generations"
    seen "$1, its generation begins" "$(line "$backbone" "$generation" "$generations")"
    generations=$(lines "$backbone" "$generation")
    more_steps second 2
}
generations=$(lines "$backbone" "$generation")
begin run appoint --name second --file "$folder/voter"
key=$(grep -o '[0-9a-f]\{64\}' "$folder/answer" | head -n 1)
"$programs/dedloc-backbone" --voter "$folder/voter" --folder "$folder/voter-2" \
    --listen 127.0.0.1:0 2>"$folder/voter-2.log" &
voter=$!
voters_become "appoint in second"
begin run dismiss --name second "$key"
voters_become "dismiss in second"
kill "$voter"
wait "$voter" || true
rest second

# --- Models out, while their runs go on.
copy_checkpoint() { # the newest, unless it is deleted meanwhile
    control run checkpoint list --name "$1" --json >"$folder/answer"
    cp "$(jq -r '.checkpoints[0].file' "$folder/answer")" "$folder/$1.state" 2>/dev/null
}
for run in "${runs[@]}"; do
    go_on "$run"
    begin run export --name "$run" "$folder/model-$run"
    [[ $(peers "$run") -gt 0 ]] || fail_test "$run was finished before its export"
    echo "export $run: complete after $answered ms"
    [[ $answered -lt $max_milliseconds ]] || fail_test "export of $run: only after $answered ms"
    for file in README.md config.json model.safetensors tokenizer.json; do
        [[ -s $folder/model-$run/$file ]] || fail_test "the export of $run has no $file"
    done
    await 20 "a copy of a checkpoint of $run" copy_checkpoint "$run"
    # The next commit proves it. The log may not have the one yet that has led to it.
    more_steps "$run" 2
    begin run checkpoint verify --name "$run" "$folder/$run.state"
    echo "checkpoint of $run: proven after $answered ms"
    rest "$run"
done

echo "the runs end"
go_on "${runs[@]}"
# Users are paid for every run: a report taken while another run is still being paid has other sums.
for run in "${runs[@]}"; do
    control run wait --name "$run" --timeout 3000 || fail_test "$run does not end"
    control run report --name "$run" | grep -E 'digests|credit' || fail_test "$run: no report"
done
for run in "${runs[@]}"; do
    control run report --name "$run" --json >"$folder/$run.json" || fail_test "$run: no agreement"
    jq -e --argjson steps "$steps" '.step == $steps and .equal_steps == $steps and .credit_agrees
        and .open_jobs + .pending_contributions + .withheld_samples + .unowned_samples == 0' \
        "$folder/$run.json" >/dev/null || fail_test "$run: $(<"$folder/$run.json")"
    # The ledger has the same samples.
    samples=$(control run status --name "$run" --follow --json | jq -s 'map(.samples) | add')
    [[ $(jq .samples "$folder/$run.json") == "$samples" ]] || fail_test "$run: other samples"
    # So have its volunteers, each with one job, and no other account.
    for number in 1 2 3; do
        control user show "volunteer-$number" --json >"$folder/user-$number.json"
        work=$(jq "[.runs[] | select(.run == \"$run\") | .samples] | add // 0" \
            "$folder/user-$number.json")
        is_member=$([[ " ${members[$run]} " != *" $number "* ]] || echo yes)
        [[ (-n $is_member && $work -gt 0) || (-z $is_member && $work == 0) ]] \
            || fail_test "volunteer $number has $work samples in $run"
        samples=$((samples - work))
    done
    [[ $samples == 0 ]] || fail_test "$samples samples of $run are of other users"
done
for number in 1 2 3; do
    [[ $(jq .jobs.succeeded "$folder/user-$number.json") == 2 ]] \
        || fail_test "volunteer $number: $(jq -c .jobs "$folder/user-$number.json")"
done
jq -se '(map(.credit) | add) as $sum | all(.[]; (.credit_of_all_runs / $sum - 1 | fabs) < 1e-9
    and (.credit_of_users / $sum - 1 | fabs) < 1e-9)' "$folder"/{first,second,third}.json \
    >/dev/null || fail_test "the runs' credit is not that of the users"

echo "the models can be loaded, the project and the logs are clean"
for run in "${runs[@]}"; do
    control run create --name "of-$run" --corpus "$folder/corpus" --from "$folder/model-$run" \
        --steps 1 >/dev/null || fail_test "the export of $run cannot be loaded"
done
output=$folder/checked
"$dedloc" project check "$project" >"$output" || fail_test "project check finds damage"
! grep '^warning' "$output" || fail_test "project check warns"
# What the apps have logged, as their clients have reported it.
output=$folder/app_logs
sql "select stderr_out from result where server_state = 5 and userid > 0" >"$output"
[[ $(grep -o 'takes a seat in run' "$output" | wc -l) -ge 6 ]] || fail_test "apps have no logs"
for output in "$output" "$volunteers_dir"/*/client.log; do
    ! grep -E ' (error|critical): |\[error\]|Computation error' "$output" \
        || fail_test "$output has an error"
done
echo "passed"
