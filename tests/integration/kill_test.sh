#!/usr/bin/env bash
# Every process of a project is killed with -9 at random moments, its supervisor too, while stock
# BOINC clients train, and others sign up, get jobs, upload and report. What was acknowledged is
# there in the end: accounts, uploads, reports, steps, each contribution paid exactly once. `project
# check` finds nothing bad, and a view of the run goes on without a gap.
# Usage: kill_test.sh PROGRAMS [KILLS [SEED]]
#   KILLS: how many (12: each kind of process once). SEED: of kinds and pauses (printed).
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
use_volunteers "$1"
kills=${2:-12}
seed=${3:-$((RANDOM + 1))}
echo "seed $seed, $kills kills"

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name Kills --contact-seconds 5 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null
add_trainer
"$dedloc" run create --project "$project" --name kills --corpus "$folder/corpus" --model tiny \
    --target-batch 32 --steps 100000 --evaluate-every 20 --evaluate-samples 8 >/dev/null
url=$(config master_url)
log=$project/log/dedloc-backbone-kills.log
output=$log # which a failure prints
"$dedloc" project start "$project" >/dev/null

# --- Clients that note what the server has acknowledged, in files of $folder/acknowledged.
mkdir "$folder/acknowledged"
ask() { curl -fs --max-time 10 "$@" 2>/dev/null; }
# request ACCOUNT HOST NUMBER MORE: the reply of the scheduler.
request() {
    ask --data-binary @- "${url}cgi/scheduler" <<END
<scheduler_request>
<authenticator>$1</authenticator>
<hostid>$2</hostid>
<rpc_seqno>$3</rpc_seqno>
<core_client_major_version>7</core_client_major_version>
<core_client_minor_version>20</core_client_minor_version>
<platform_name>x86_64-pc-linux-gnu</platform_name>
<host_info><domain_name>host-$3</domain_name><host_cpid>cpid-$3</host_cpid><p_ncpus>1</p_ncpus>
<m_nbytes>8e9</m_nbytes><d_free>1e11</d_free></host_info>
$4
</scheduler_request>
END
}
element() { sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" | head -n 1; }
# uploaded NAME FILE_INFO: sends a file, also again, until the server acknowledges all of it.
uploaded() {
    local tries data sum
    data=$(printf 'receipt of %s %0500d' "$1" 7)
    sum=$(echo "$data" | md5sum | cut -d ' ' -f 1)
    for tries in {1..3}; do
        if ask --data-binary @- "${url}file_upload_handler" <<END | grep -q '<status>0</status>'
<data_server_request>
<core_client_major_version>7</core_client_major_version>
<file_upload>
<file_info>
$2
</file_info>
<nbytes>$((${#data} + 1))</nbytes>
<md5_cksum>$sum</md5_cksum>
<offset>0</offset>
<data>
$data
END
        then
            echo "$1 $sum" >>"$folder/acknowledged/uploads"
            return 0
        fi
    done
    return 1
}
# one_visit NUMBER: a new account with a new computer gets a job, uploads its file and reports it.
one_visit() {
    local email=guest-$1@example.org account reply host result info
    account=$(ask "${url}create_account.php?email_addr=$email&user_name=g$1&passwd_hash=$(
        printf 'secret%s' "$email" | md5sum | cut -d ' ' -f 1)" | element authenticator)
    [[ -n $account ]] || return 0
    echo "$account" >>"$folder/acknowledged/accounts"
    reply=$(request "$account" 0 "$1" \
        '<work_req_seconds>9</work_req_seconds><cpu_req_secs>9</cpu_req_secs>
<cpu_req_instances>1</cpu_req_instances>') || return 0
    host=$(element hostid <<<"$reply")
    [[ -n $host ]] || return 0
    echo "$host" >>"$folder/acknowledged/hosts"
    # The reply's part that describes the output file.
    info=$(awk '/<file_info>/ { text = ""; next } /<\/file_info>/ { if (text ~ /xml_signature/) \
        { print text; exit } } { text = text $0 "\n" }' <<<"$reply")
    [[ -n $info ]] || return 0
    uploaded "$(element name <<<"$info")" "$info" || return 0
    result=$(element name <<<"$info")
    result=${result%_r*}
    request "$account" "$host" $(($1 + 1000000)) "<result><name>$result</name><state>5</state>
<exit_status>0</exit_status></result>" | grep -q '<result_ack>' || return 0
    echo "$result" >>"$folder/acknowledged/reports"
}
visit() {
    local number=0
    while [[ ! -e $folder/closed ]]; do
        number=$((number + 1))
        one_visit "$number" || true
        sleep 0.3
    done
}

# --- What is killed. A name in pids/, or a worker of nginx.
kinds=(mariadbd nginx nginx-worker dedloc-server dedloc-gateway dedloc-work dedloc-validator
    dedloc-credit dedloc-purge dedloc-evaluate dedloc-backbone-kills supervisor)
process() {
    local pid
    if [[ $1 == nginx-worker ]]; then
        pid=$(<"$project/pids/nginx.pid")
        cut -d ' ' -f 1 "/proc/$pid/task/$pid/children"
    else
        cat "$project/pids/$1.pid"
    fi 2>/dev/null
}
runs() {
    victim=$(process "$1") || return 1
    [[ -n $victim ]] && kill -0 "$victim" 2>/dev/null
}
starts_again() { "$dedloc" project start "$project" >"$folder/started" 2>&1; }
kill_one() {
    # The pause before a restart may have grown to 30 s.
    await 60 "$1 to run" runs "$1"
    kill -KILL "$victim" 2>/dev/null || true
    [[ $1 == supervisor ]] || return 0
    output=$folder/started
    await 90 "the project to start again" starts_again
    output=$log
}
counts() {
    local what
    for what in accounts hosts uploads reports; do
        echo -n "$(cat "$folder/acknowledged/$what" 2>/dev/null | wc -l) $what, "
    done
    echo "step $(shown | tail -n 1)"
}
shown() { { grep -o '^step *[0-9]*' "$folder/followed" 2>/dev/null || true; } | tr -dc '0-9\n'; }
has_step() { [[ $(shown | tail -n 1) -ge $1 ]]; }

for number in 1 2; do add_volunteer "$number" "$url"; done
"$dedloc" run status --project "$project" --name kills --follow >"$folder/followed" \
    2>"$folder/followed.err" &
follower=$!
await 300 "the first steps" has_step 3
visit &
visitor=$!

RANDOM=$seed
order=("${kinds[@]}")
for ((number = ${#order[@]} - 1; number > 0; --number)); do
    other=$((RANDOM % (number + 1))) kind=${order[number]}
    order[number]=${order[other]} order[other]=$kind
done
for ((number = 0; number < kills; ++number)); do
    kind=${order[number]:-${kinds[RANDOM % ${#kinds[@]}]}}
    sleep "$((RANDOM % 2)).$((RANDOM % 1000 + 1000))"
    kill_one "$kind"
    printf '%3d killed %-22s %s\n' $((number + 1)) "$kind" "$(counts)"
    kill -0 "$follower" || fail_test "the view ended: $(tail -n 1 "$folder/followed.err")"
done

# --- The end: nothing happens any more, and everything is in the database.
touch "$folder/closed"
wait "$visitor"
all_run() {
    local kind
    for kind in "${kinds[@]}"; do runs "$kind" || return 1; done
}
await 90 "all daemons to run" all_run
await 240 "steps after the last kill" has_step $(($(shown | tail -n 1) + 3))
"$dedloc" run pause --project "$project" --name kills >/dev/null
report() { "$dedloc" run report --project "$project" --name kills --json 2>/dev/null || true; }
is_settled() {
    local before
    before=$(shown | tail -n 1)
    report >"$folder/report"
    [[ $(jq .pending_contributions "$folder/report") == 0 ]] || return 1
    [[ $(jq .step "$folder/report") == "$before" ]] || return 1
    sleep 3
    [[ $(shown | tail -n 1) == "$before" ]]
}
await 240 "all contributions to be paid" is_settled
echo "after the kills: $(counts)"
"$dedloc" project check "$project" >"$folder/checked" || { cat "$folder/checked"
    fail_test "project check found something bad while the project runs"; }
! grep '^warning' "$folder/checked" || fail_test "project check warns"

steps=$(shown | tail -n 1)
[[ $(shown | wc -l) == "$steps" && $(shown | head -n 1) == 1 ]] \
    || fail_test "the view left out steps: $(shown | wc -l) lines up to step $steps"
[[ $(jq .credit_agrees "$folder/report") == true ]] || fail_test "credit: $(<"$folder/report")"
[[ $(jq .unowned_samples "$folder/report") == 0 ]] || fail_test "samples without an owner"
[[ $(sql "select count(*) from dedloc_step") == "$steps" ]] || fail_test "steps have no rows"
# all_in FILE QUERY: each acknowledged line is a row.
all_in() {
    local missing
    [[ -s $folder/acknowledged/$1 ]] || fail_test "no $1 were acknowledged"
    missing=$(comm -23 <(sort -u "$folder/acknowledged/$1") <(sql "$2" | sort -u))
    [[ -z $missing ]] || fail_test "acknowledged $1 are lost: $(xargs <<<"$missing")"
}
all_in accounts "select authenticator from user"
all_in hosts "select id from host"
all_in reports "select name from result where server_state = 5"
[[ -s $folder/acknowledged/uploads ]] || fail_test "no uploads were acknowledged"
while read -r name sum; do
    file=$(find "$project/upload" -name "$name")
    [[ -n $file && $(md5sum <"$file") == "$sum"* ]] || fail_test "the upload $name is lost"
done <"$folder/acknowledged/uploads"

kill -0 "$follower" || fail_test "the view ended: $(tail -n 1 "$folder/followed.err")"
kill "$follower"
wait "$follower" || true
kill_all TERM "${clients[@]}"
gone 20 "${clients[@]}" || kill_all KILL "${clients[@]}"
"$dedloc" project stop "$project" >/dev/null
"$dedloc" project check "$project" >"$folder/checked" || { cat "$folder/checked"
    fail_test "project check found something bad in the stopped project"; }
none_left "the project"
echo "passed: $kills kills, seed $seed, $steps steps"
