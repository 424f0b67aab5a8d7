#!/usr/bin/env bash
# Three runs in one project while three members train in the first: pause, resume, ban, dismiss,
# appoint and export each act within seconds, and the times are printed. Then the same with the
# database killed; the view goes on, and the database gets everything when it is back.
# Usage: run_control_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
dedloc=$programs/dedloc
peer=$programs/dedloc-peer
project=$folder/project
log=$project/log/dedloc-backbone-first.log
output=$log # which a failure prints

# The SSH server of the voter's machine, and this user's way to it.
port=$((20000 + RANDOM % 12000))
while ss -Htln | grep -q "127.0.0.1:$port "; do port=$((port + 1)); done
mkdir "$folder/ssh"
"$(dirname "${BASH_SOURCE[0]}")/../ssh_server.sh" "$folder/ssh" "$port" 2>"$folder/ssh.log" &
ssh_server=$!
at_end 'kill "$ssh_server"; wait "$ssh_server"'
export PATH="$folder/ssh/bin:$PATH"
ssh_listens() { ss -Htln | grep -q "127.0.0.1:$port "; }
await 20 "the SSH server" ssh_listens

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name Control >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null
for run in first second third; do
    "$dedloc" run create --project "$project" --name $run --corpus "$folder/corpus" \
        --model tiny --target-batch 12 --steps 100000 --evaluate-every 0 >/dev/null
done
"$dedloc" project start "$project" >/dev/null

logged() { grep -c ' step [0-9]*: loss' "$project/log/dedloc-backbone-$1.log" || true; }
state() {
    "$dedloc" run status --project "$project" --name "$1" --json | grep -o '"state":"[a-z]*"'
}
# The database's word, without a client of its own: the server's page reads it.
url=$(config master_url)

# scheduler_request HOST SEQUENCE MORE: the reply to a BOINC client of the only account.
scheduler_request() {
    curl -fs --data-binary @- "${url}cgi/scheduler" <<END
<scheduler_request>
<authenticator>$account</authenticator>
<hostid>$1</hostid>
<rpc_seqno>$2</rpc_seqno>
<allow_multiple_clients>1</allow_multiple_clients>
<core_client_major_version>7</core_client_major_version>
<core_client_minor_version>20</core_client_minor_version>
<platform_name>x86_64-pc-linux-gnu</platform_name>
<host_info><domain_name>host-$2</domain_name><p_ncpus>2</p_ncpus></host_info>
$3
</scheduler_request>
END
}
# join RUN NUMBER: a member with the ticket of user and host NUMBER.
join() {
    local at=$folder/$1-$2
    "$peer" ticket "$project/runs/$1/run.json" --project-key "$project/keys/project.key" \
        --key "$at.key" --ticket "$at.ticket" --user "$2" --host "$2"
    "$peer" join "$project/runs/$1/run.json" --key "$at.key" --ticket "$at.ticket" \
        --samples-per-second 10 --quiet >"$at.out" 2>"$at.log" &
}
# timed LIMIT WHAT CONDITION COMMAND...: runs the command, then prints after how many milliseconds
# the condition holds. The limit is generous: the machine may be busy.
timed() {
    local limit=$1 what=$2 condition=$3 began
    shift 3
    began=$(milliseconds)
    "$@" >"$folder/answer"
    local answered=$(($(milliseconds) - began))
    local deadline=$((began + limit * 1000))
    until "$condition"; do
        [[ $(milliseconds) -lt $deadline ]] || fail_test "$what: not within $limit s"
        sleep 0.02
    done
    echo "$what: answered after $answered ms, done after $(($(milliseconds) - began)) ms"
}
always() { true; }
has_steps() { [[ $(logged first) -ge $1 ]]; }
more() { await 60 "more steps" has_steps $(($(logged first) + $1)); }

email=volunteer@example.org
hash=$(printf "secret%s" "$email" | md5sum | cut -d " " -f 1)
account=$(curl -fs "${url}create_account.php?email_addr=$email&user_name=v&passwd_hash=$hash" \
    | sed -n 's|.*<authenticator>\(.*\)</authenticator>.*|\1|p')
for number in 1 2 3 4; do
    scheduler_request 0 "$number" "" | grep -q "<hostid>$number</hostid>" \
        || fail_test "no host $number"
done
for number in 1 2 3; do join first "$number"; done
join second 4
await 90 "the first steps" has_steps 3
"$dedloc" run status --project "$project" --name first --follow >"$folder/followed" 2>&1 &
follower=$!

# is_calm RUN: no step for three seconds.
is_calm() {
    local before
    before=$(logged "$1")
    sleep 3
    [[ $(logged "$1") == "$before" ]]
}
# check_pause WORD: pauses and resumes the first run.
check_pause() {
    timed 10 "pause, $1" always "$dedloc" run pause --project "$project" --name first
    [[ $(state first) == '"state":"paused"' ]] || fail_test "the run is not paused: $(state first)"
    [[ $(state second) == '"state":"running"' ]] || fail_test "another run is paused"
    await 20 "the called round's end" is_calm first
    local before
    before=$(logged first)
    goes_on() { [[ $(logged first) -gt $before ]]; }
    timed 30 "resume, $1, until a step is decided" goes_on \
        "$dedloc" run resume --project "$project" --name first
}
# check_ban NUMBER WORD: bans the member's host.
check_ban() {
    local member=$folder/first-$1.log before
    before=$(grep -ci revoked "$member" || true)
    is_out() { [[ $(grep -ci revoked "$member") -gt $before ]]; }
    timed 20 "ban, $2, until the member's link is closed" is_out \
        "$dedloc" host ban --project "$project" --reason "it sends nonsense" "$1"
}

check_pause "with the database"
check_ban 3 "with the database"
scheduler_request 3 100 '<work_req_seconds>9</work_req_seconds><cpu_req_secs>9</cpu_req_secs>' \
    | grep -q 'has banned this computer, so it gets no tasks: it sends nonsense' \
    || fail_test "the volunteer is not told of the ban"
"$dedloc" host show --project "$project" 3 --json | grep -q '"is_banned":true.*it sends' \
    || fail_test "the ban is not shown"
more 2
timed 60 "export, with the database" always \
    "$dedloc" run export --project "$project" --name first "$folder/model-1"

echo "voters come and go"
start_voter() {
    "$dedloc" run appoint --project "$project" --name first --file "$folder/voter" \
        --control "ssh://$(id -un)@127.0.0.1:$port$folder/voter-2"
    "$programs/dedloc-backbone" --voter "$folder/voter" --folder "$folder/voter-2" \
        --listen 127.0.0.1:0 2>"$folder/voter-2.log" &
    voter=$!
}
generation() { grep -c 'generation [0-9]* with .* voters* begins' "$log" || true; }
voters_are() { [[ $(generation) -gt $generations ]]; }
generations=0
timed 90 "appoint, start the voter, until its generation is in force" voters_are start_voter
key=$(grep -o '[0-9a-f]\{64\}' "$folder/answer" | head -n 1)
more 1
"$dedloc" run status --folder "$folder/voter-2" --json | grep -q '"live":true' \
    || fail_test "the new voter does not answer"

echo "the run's own backbone and the database are killed: the voter elsewhere obeys"
supervisor=$(<"$project/pids/supervisor.pid")
kill -STOP "$supervisor"
kill -KILL "$(<"$project/pids/mariadbd.pid")" "$(<"$project/pids/dedloc-backbone-first.pid")"
voter_state() {
    "$dedloc" run status --folder "$folder/voter-2" --json | grep -o '"state":"[a-z]*"'
}
is_paused_there() { [[ $(voter_state) == '"state":"paused"' ]]; }
timed 10 "pause, through the voter" is_paused_there \
    "$dedloc" run pause --project "$project" --name first
grep -q 'told 1 voter on other machines' "$folder/answer" || fail_test "the voter was not told"
"$dedloc" run status --project "$project" --name first --json \
    | grep '"state":"paused"' | grep -q '"live":true' || fail_test "the voter is not asked"
timed 10 "resume, through the voter" always "$dedloc" run resume --project "$project" --name first
[[ $(voter_state) == '"state":"running"' ]] || fail_test "the voter has not resumed"
kill -CONT "$supervisor"
more 1

generations=$(generation)
timed 30 "dismiss, until the new generation begins" voters_are \
    "$dedloc" run dismiss --project "$project" --name first "$key"
more 1
kill "$voter"
wait "$voter" || true

echo "the database is killed, and the supervisor cannot restart it"
kill -STOP "$supervisor"
kill -KILL "$(<"$project/pids/mariadbd.pid")"
sleep 1
followed=$(grep -c '^step ' "$folder/followed")
check_pause "without the database"
check_ban 2 "without the database"
timed 60 "export, without the database" always \
    "$dedloc" run export --project "$project" --name first "$folder/model-2"
is_seen() { [[ $(grep -c '^step ' "$folder/followed") -gt $((followed + 2)) ]]; }
await 30 "the view's lines without the database" is_seen
# This pause is in the run's folder only, for now.
"$dedloc" run pause --project "$project" --name third >/dev/null

echo "kill -9 of the backbone and of the view"
kill -KILL "$(<"$project/pids/dedloc-backbone-first.pid")"
kill -KILL "$follower"
wait "$follower" 2>/dev/null || true
"$dedloc" run status --project "$project" --name first --follow >"$folder/followed-2" 2>&1 &
follower=$!
kill -CONT "$supervisor"
more 3
grep -q 'does not answer' "$folder/followed-2" || fail_test "the view noticed nothing"
is_seen_again() { [[ $(grep -c '^step ' "$folder/followed-2") -ge $(logged first) ]]; }
await 60 "the new view's lines" is_seen_again
doubled=$(grep -o '^step *[0-9]*' "$folder/followed-2" | sort | uniq -d)
[[ -z $doubled ]] || fail_test "the view has lines twice: $doubled"

has_row() { curl -fs "${url}run/third.json" | grep -q '"state":"paused"'; }
await 60 "the paused run in the database" has_row
# The gateway reads the database: the host that was banned without it is banned there.
is_empty() { [[ ! -e $project/runs/first/pending_revocations ]]; }
await 30 "the ban in the database" is_empty
"$dedloc" host unban --project "$project" 2 >/dev/null
[[ $(state second) == '"state":"running"' && $(logged second) -gt 0 ]] || fail_test "second stopped"

kill -INT "$follower"
wait "$follower" || true
mapfile -t members < <(jobs -p)
kill "${members[@]}" 2>/dev/null || true
wait || true
"$dedloc" project stop "$project" >/dev/null
none_left "the project"
echo "passed"
