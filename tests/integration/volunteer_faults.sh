#!/usr/bin/env bash
# What a volunteer meets on a bad day, with a stock BOINC client: a damaged run file, a damaged key,
# a full disk, a clock that is an hour off, a gateway that does not answer, an app that crashes or
# hangs. Each is one sentence in the job's log, nothing that was computed is lost, and the project
# goes on.
# Usage: volunteer_faults.sh PROGRAMS [--away SECONDS] [FAULT...]
#   --away SECONDS  for which the gateway does not answer (20)
#   FAULT           gateway, disk, clock, key, run_file, crash or hang; without one, all of them
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
use_volunteers "$1"
shift
away=20
if [[ ${1:-} == --away ]]; then away=$2 && shift 2; fi
faults=("$@")
[[ $# -ge 1 ]] || faults=(gateway disk clock key run_file crash hang)

bible_text >"$folder/text"
"$dedloc" project create "$project" --name Faults --contact-seconds 5 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" >/dev/null
"$dedloc" app add --project "$project" --binary "$programs/dedloc_train" --no-gzip >/dev/null
"$dedloc" run create --project "$project" --name faults --corpus "$folder/corpus" --model tiny \
    --steps 1000000 >/dev/null
start_project

# log NUMBER: the log of the volunteer's app, while it has a job.
log() { echo "$volunteers_dir/$1"/slots/*/stderr.txt; }
log_text() { cat "$volunteers_dir/$1"/slots/*/stderr.txt 2>/dev/null || true; }
log_says() { grep -qE "$2" < <(log_text "$1"); }
committed() { # prints nothing without a log
    [[ ! -f $(log "$1") ]] || grep -cE 'members, [1-9][0-9]* ours' "$(log "$1")" || true
}
has_committed() {
    [[ -n $(committed "$1") ]] || hurry
    [[ $(committed "$1") -ge $2 ]]
}
trains() { # trains NUMBER: waits until two more steps count its samples.
    local before
    before=$(committed "$1")
    await 120 "volunteer $1 to contribute" has_committed "$1" $((${before:-0} + 2))
}
app() {
    local pid
    for pid in $(process_tree "${clients[$1]}"); do
        [[ $(cat "/proc/$pid/comm" 2>/dev/null) != dedloc_* ]] || echo "$pid"
    done | tail -n 1
}
slot() { dirname "$(log "$1")"; }
failed_jobs() { sql "select count(*) from result where outcome = 3"; }
# hurry: after a failed job a client waits for minutes, unless its user asks for an update.
hurry() { gui_rpc "$volunteers_dir/1" --project "$url" update 2>/dev/null || true; sleep 2; }
# job: the name of the job of volunteer 1, also when it has failed and was not cleared away yet.
job() { cat "$volunteers_dir/1"/slots/*/init_data.xml 2>/dev/null \
    | sed -n 's|.*<result_name>\(.*\)</result_name>.*|\1|p' | head -n 1; }
# trains_after JOB: waits until two steps count samples of a job after this one.
trains_after() { await 240 "the next job to contribute" next_job_trains "$1"; }
next_job_trains() {
    local now
    now=$(job)
    if [[ -z $now || $now == "$1" ]]; then hurry && return 1; fi
    has_committed 1 2
}
more_failed_jobs() { [[ $(failed_jobs) -gt $1 ]] || { hurry && false; }; }
end_client() {
    local all
    all=$(process_tree "${clients[$1]}")
    gui_rpc "$volunteers_dir/$1" --quit 2>/dev/null || true # it may have ended by itself
    # A client waits 60 s for an app that hangs, and then kills it.
    gone 90 $all || fail_test "client or app of volunteer $1 does not end"
}
# last_report WORDS: the newest report of a failed job says this.
last_report() {
    sql "select stderr_out from result where outcome = 3 order by id desc limit 1" \
        | sed 's/\\n/\n/g' | grep -F -- "$1" | sed -E 's/^[^ ]+ [^ ]+ /         /' \
        || fail_test "the report does not say: $1"
}
restart() { end_client "$1" && start_client "$1"; }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
# quote NUMBER PATTERN: prints the line of the log that says it, without its time.
quote() { grep -E "$2" < <(log_text "$1") | tail -n 1 | sed -E 's/^[^ ]+ [^ ]+ /         /'; }

add_volunteer 1 "$url"
# Else a client gets one job in its life.
sed -i 's|<fetch_minimal_work>1|<fetch_minimal_work>0|' "$volunteers_dir/1/cc_config.xml"
gui_rpc "$volunteers_dir/1" --read_cc_config
trains 1

# came_back BEFORE: a step more than these counts samples of volunteer 1.
came_back() { has_committed 1 $(($1 + 1)); }

fault_gateway() {
    local gateway stopped before
    say "the gateway does not answer for $away s"
    gateway=$(marked | while read -r pid; do
        [[ $(cat "/proc/$pid/comm" 2>/dev/null) != dedloc-gateway ]] || echo "$pid"
    done)
    kill -STOP "$gateway"
    at_end "kill -CONT $gateway 2>/dev/null"
    trains 1 # links that stand do not need it
    restart 1
    stopped=$SECONDS
    asks() { log_says 1 'takes a seat' && [[ -n $(app 1) ]]; }
    await 60 "the app to start again" asks
    before=$(committed 1)
    while [[ $((SECONDS - stopped)) -lt $away ]]; do sleep 1; done
    quote 1 'no ticket|trying again' || true
    kill -CONT "$gateway"
    if [[ $away -lt 600 ]]; then await 120 "volunteer 1 to go on" came_back "$before"
    else await 700 "volunteer 1 to come back after its delay" came_back "$before"; fi
}

fault_disk() {
    local home=$volunteers_dir/1 had
    say "the disk is full"
    if [[ $EUID == 0 ]] && end_client 1 && mv "$home" "$home.old" && mkdir "$home" \
        && mount -t tmpfs -o "size=$(($(du -sm "$home.old" | cut -f 1) + 40))m" none "$home"; then
        at_end "umount -l '$home' 2>/dev/null"
        cp -a "$home.old/." "$home" && rm -rf "$home.old"
        start_client 1
        trains 1
        dd if=/dev/zero of="$home/filler" bs=64K status=none 2>/dev/null || true
        ! echo more 2>/dev/null >"$home/more" || fail_test "the disk is not full"
        had=$(wc -l <"$(slot 1)/receipt_journal")
        # The client suspends the job, or ends when it cannot write its own state.
        rests() { [[ -z $(app 1) ]] || log_says 1 'suspended: leaving the swarm'; }
        await 120 "the job to rest" rests
        rm "$home/filler" "$home/more"
        end_client 1
        start_client 1
        trains 1
        [[ $(wc -l <"$(slot 1)/receipt_journal") -gt $had ]] \
            || fail_test "the journal has lost lines"
        # The small disk has no space for another job.
        end_client 1
        cp -a "$home" "$home.old"
        umount "$home"
        rmdir "$home"
        mv "$home.old" "$home"
        start_client 1
        trains 1
    else
        say "  left out: a small disk cannot be mounted here"
    fi
}

fault_clock() {
    local before
    say "the clock is an hour ahead"
    cat >"$folder/clock.c" <<'C'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec* t) {
    int status = (int)syscall(SYS_clock_gettime, id, t);
    if (status == 0 && id == CLOCK_REALTIME) t->tv_sec += 3600;
    return status;
}
C
    cc -shared -fPIC -o "$folder/clock.so" "$folder/clock.c"
    end_client 1
    before=$(committed 1)
    LD_PRELOAD=$folder/clock.so start_client 1
    is_told() {
        log_says 1 "this computer's clock is (59|60) minutes ahead of the project's" \
            && log_says 1 'trying again in 5 minutes'
    }
    await 60 "the app to say that the clock is wrong and when it tries again" is_told
    quote 1 "computer's clock"
    quote 1 'trying again in 5 minutes'
    restart 1
    await 120 "volunteer 1 to go on" came_back "$before"
}

fault_key() {
    local failed old
    say "the job's key is damaged"
    failed=$(failed_jobs) old=$(job)
    end_client 1
    echo damaged >"$(slot 1)/peer.key"
    start_client 1
    await 120 "the job to be reported" more_failed_jobs "$failed"
    last_report 'peer.key holds no key'
    trains_after "$old"
}

fault_run_file() {
    local failed old run_file
    say "the run file is damaged"
    failed=$(failed_jobs) old=$(job)
    end_client 1
    run_file=$(echo "$volunteers_dir/1/projects"/*/run_*.json)
    sed -i 's/"name"/"nome"/' "$run_file"
    start_client 1
    await 120 "the job to be reported" more_failed_jobs "$failed"
    last_report "run file: field 'name' is missing"
    last_report 'is deleted: the BOINC client downloads it again'
    restart 1 # it looks for missing files when it starts; without that it takes one more failed job
    trains_after "$old"
}

# arguments WORDS: restarts volunteer 1 with these arguments for its app.
arguments() {
    volunteer_arguments=$1
    pass_arguments "$volunteers_dir/1"
    restart 1
}

fault_crash() {
    local failed old status
    say "the app crashes after its second contribution"
    failed=$(failed_jobs) old=$(job)
    arguments '--fault crash@2'
    await 120 "the job to be reported" more_failed_jobs "$failed"
    last_report '--fault: after 2 counted contributions'
    status=$(sql "select exit_status from result where outcome = 3 order by id desc limit 1")
    [[ $status == 11 ]] || fail_test "the crash is reported as status $status, not as SIGSEGV"
    arguments '--no-map-port'
    trains_after "$old"
}

fault_hang() {
    say "the app hangs, and its client can end it"
    arguments '--fault hang@1'
    hangs() { log_says 1 'fault: after 1 counted' || { hurry && false; }; }
    await 300 "the app to hang" hangs
    arguments '--no-map-port'
    trains 1
}

for fault in "${faults[@]}"; do "fault_$fault"; done

say "what was computed before each fault is paid"
is_paid() {
    awk '$2 == "volunteer-1" && $3 > 0 { found = 1 } END { exit !found }' \
        < <("$dedloc" leaderboard --project "$project")
}
await 60 "credit" is_paid
"$dedloc" project check "$project" >/dev/null || fail_test "the project is not whole"
