#!/usr/bin/env bash
# Joining by one line: /join.sh and /join.ipynb of a project, as people run them. What is wrong is
# said in one sentence; an account is made, with an invitation code where the project wants one; a
# client trains until samples are counted; and at each of five moments, and while the project is
# slow, an interruption leaves neither a process nor a file, and no job on the project's side.
# Usage: join_test.sh PROGRAMS
set -Eeuo pipefail
is_large=yes
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/checks.sh"
programs=$(realpath "$1")
dedloc=$programs/dedloc
project=$folder/project
python=${DEDLOC_PYTHON:-/usr/bin/python3}
"$python" -c 'import nbclient, ipykernel' \
    || fail_test "nbclient and ipykernel are missing; ./setup installs them"

for word in {1..2000}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name "Join us" --contact-seconds 10 --join invitation \
    >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null \
    2>&1
"$dedloc" app add --project "$project" --binary "$programs/dedloc_train" --no-gzip >/dev/null
"$dedloc" run create --project "$project" --name first --corpus "$folder/corpus" --model tiny \
    --target-batch 16 --steps 1000000 --evaluate-every 0 >/dev/null
"$dedloc" project start "$project" >/dev/null
at_end "'$dedloc' project stop '$project' >/dev/null"
url=$(config master_url)
code=$("$dedloc" invite new --project "$project" --uses 1 --json | jq -r .code)

curl -fsS "${url}join.sh" -o "$folder/join.sh"
curl -fsS "${url}join.ipynb" -o "$folder/join.ipynb"
grep -qF "master='$url'" "$folder/join.sh" || fail_test "join.sh has another address"
[[ $(jq -r '.cells | length' "$folder/join.ipynb") == 2 ]] || fail_test "the notebook has no cell"
curl -fsS -H 'Host: evil.example' "${url}join.sh" | cmp - "$folder/join.sh" \
    || fail_test "the Host header changes join.sh"
! command -v shellcheck >/dev/null || shellcheck "$folder/join.sh"

export TMPDIR=$folder/temporary
mkdir "$TMPDIR"
# join OPTION...: without a terminal, as a script runs it.
join() { setsid --wait sh "$folder/join.sh" "$@" </dev/null; }
one_sentence() { says 1 "$@"; nothing_left "$2"; }
nothing_left() {
    [[ -z $(ls -A "$TMPDIR") ]] || fail_test "$1 left $(find "$TMPDIR" | head -5)"
}
one_sentence '^join: there is no option --cats; see --help$' join --cats
one_sentence '^join: --key needs a value; see --help$' join --key
one_sentence 'whole numbers$' join --cores two
one_sentence 'above 0$' join --minutes 0
one_sentence '^join: no account of Join us has this key$' join --key "$(printf '%032d' 7)"
one_sentence 'digits and letters only$' join --key "';id"
one_sentence '^join: give --key, or --email' join
one_sentence '^join: The password .* is missing; see --help$' join --email a@example.org
export DEDLOC_PASSWORD=secret
one_sentence '^join: The name .* is missing; see --help$' join --email a@example.org
one_sentence '^join: The invitation code is missing; see --help$' \
    join --email a@example.org --name Ada
sed "s|$url|http://127.0.0.1:1/|" "$folder/join.sh" >"$folder/away.sh"
one_sentence '^join: http://127.0.0.1:1/ does not answer: ' sh "$folder/away.sh" --key 1
[[ $(sh "$folder/join.sh" --help | wc -l) -gt 15 ]] || fail_test "--help is short"

# A wrong code is refused after the plan, and makes no account.
output=$folder/said
if join --email a@example.org --name Ada --invitation 0000-0000-0000-0000 >"$output" 2>&1; then
    fail_test "a wrong code made an account"
fi
grep -q '^join: The invitation code is not valid.$' "$output" || fail_test "a wrong code"
nothing_left "a wrong code"

# start OPTION...: joins in the background, as the leader of a session.
start() {
    setsid sh "$folder/join.sh" --json "$@" </dev/null >"$output" 2>&1 &
    joined=$!
}
heard() { grep -q -- "$1" "$output"; }
no_job_left() {
    [[ $(sql "select count(*) from result where server_state = 4") == 0 ]] \
        || fail_test "an interruption $1 left a job with the client"
}
# interrupted WHAT: as Ctrl-C does, all of the session's processes in the foreground.
interrupted() {
    kill -TERM -- "-$joined"
    local status=0
    wait "$joined" || status=$?
    [[ $status == 0 ]] || fail_test "status $status after an interruption $1"
    nothing_left "an interruption $1"
    ! pgrep -f "$TMPDIR/dedloc-join" >/dev/null || fail_test "an interruption $1 left a process"
    no_job_left "$1"
    echo "interrupted $1: nothing left"
}
start --email a@example.org --name Ada --invitation "$code"
await 60 "the plan" heard '"plan"'
interrupted "after the plan"
[[ $(sql "select count(*) from user") -le 1 ]] || fail_test "more than one account"
start --email a@example.org --name Ada --invitation "$code"
await 60 "the client" heard '"attached"'
interrupted "when attached"
# moment TEXT LATER WHEN OPTION...: interrupts when the text is shown. It is shown every other
# second, so a shorter moment may pass unseen: then LATER is shown, and it begins anew.
moment() {
    local text=$1 later=$2 when=$3 tries
    shift 3
    for tries in {1..5}; do
        start "$@"
        await 240 "$text" heard "$text\\|$later"
        interrupted "$when"
        ! heard "$text" || return 0
    done
    fail_test "no interruption $when in $tries tries"
}
moment 'downloading' 'the app runs\|yours counted' "while the app is downloaded" \
    --email a@example.org --invitation "$code"
moment 'the app runs' 'yours counted' "when the app runs" --email a@example.org
# A project that answers after 8 s, with a job: the job is given back, too.
server=$(<"$project/pids/dedloc-server.pid")
at_end "kill -CONT $server"
logged() { grep -q -- "$1" "$TMPDIR"/dedloc-join.*/log 2>/dev/null; }
# stop_project: once the client has the project's page, before it asks for a job.
stop_project() {
    await 60 "the project's page" logged 'Master file download succeeded'
    kill -STOP "$server"
    await 60 "a request to the scheduler" logged 'Sending scheduler request'
}
start --email a@example.org
stop_project
(sleep 8; kill -CONT "$server") &
goes_on=$!
interrupted "while the project is slow"
wait "$goes_on"
for wait in {1..20}; do # the project goes on with requests of clients that have left
    no_job_left "while the project is slow"
    sleep 0.2
done
key=$(sql "select authenticator from user where email_addr = 'a@example.org'")
unset DEDLOC_PASSWORD
begin=$(milliseconds)
start --key "$key" --cores 1
await 180 "a counted sample" heard ' [1-9][0-9]* samples of yours counted'
echo "first counted sample after $((($(milliseconds) - begin) / 1000)) s"
interrupted "when samples were counted"
heard '"left; [1-9][0-9]* samples of yours were counted"' || fail_test "no last word"
[[ $(sql "select count(*) from user") == 1 ]] || fail_test "more than one account"
[[ $(sql "select taken from dedloc_invitation") == 1 ]] || fail_test "a place too many"

# The notebook, with the same account.
DEDLOC_KEY=$key "$python" "$here/run_notebook.py" "$folder/join.ipynb" "$folder/executed.ipynb" 1 \
    >"$output" 2>&1 || fail_test "the notebook"
page=$folder/executed.ipynb.html
for wanted in 'samples of yours counted' 'left; [1-9]' '<polyline' 'training loss'; do
    grep -q "$wanted" "$page" || { cp "$page" "$output"; fail_test "the notebook lacks $wanted"; }
done
! grep -q "$key" "$folder/executed.ipynb" || fail_test "the executed notebook has the account key"
nothing_left "the notebook"
[[ -z ${KEEP_PAGE:-} ]] || cp "$page" "$KEEP_PAGE"

# A second signal does not wait for a project that never answers, which takes a minute.
start --key "$key"
stop_project
kill -TERM -- "-$joined"
await 60 "the last words" heard '"leaving"'
begin=$SECONDS
kill -TERM -- "-$joined"
wait "$joined" || true
[[ $((SECONDS - begin)) -lt 50 ]] || fail_test "a second signal does not end it"
nothing_left "a second signal"
! pgrep -f "$TMPDIR/dedloc-join" >/dev/null || fail_test "a second signal left a process"
kill -CONT "$server"
echo "joining: passed"
