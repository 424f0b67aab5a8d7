#!/usr/bin/env bash
# dedloc project check, status and upgrade: daemons that do not run, no database and no disk space
# are found; a project whose tables are of an earlier version is upgraded, also by a command that
# is killed with -9 again and again.
# Usage: upkeep_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
fixtures=$(dirname "${BASH_SOURCE[0]}")/fixtures
programs=$(realpath "$1")
dedloc=$programs/dedloc
project=$folder/project
output=$folder/found # which a failure prints

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name Upkeep >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null
"$dedloc" run create --project "$project" --name earlier --corpus "$folder/corpus" --model tiny \
    --steps 9 --evaluate-every 0 >/dev/null

# finds STATUS PATTERN: the check exits with this status and prints a line like this.
finds() {
    local status=0
    "$dedloc" project check "$project" >"$output" 2>&1 || status=$?
    [[ $status == "$1" ]] || fail_test "the check ended with $status, not $1"
    grep -Eq -- "$2" "$output" || fail_test "the check does not say: $2"
}
# shows FILTER VALUE: the status in JSON has this value.
shows() {
    "$dedloc" project status "$project" --json >"$output" || fail_test "no status"
    [[ $(jq -r "$1" "$output") == "$2" ]] || fail_test "the status has $(jq "$1" "$output") as $1"
}
runs() {
    local pid
    pid=$(cat "$project/pids/$1.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null
}

echo "a stopped project"
says 2 'is not a DeDLOC project' "$dedloc" project check "$folder"
says 2 'is not a DeDLOC project' "$dedloc" project status "$folder"
says 2 'is not a DeDLOC project' "$dedloc" project upgrade "$folder"
finds 0 '^unknown  daemons'
finds 0 '^0 bad, 1 warnings, 1 not checked'
shows .is_running false
shows '.runs[0] | .name + .state' earlierrunning
says 0 'is up to date already' "$dedloc" project upgrade "$project"
# A project of a version without ticket keys gets one; another time it keeps that.
mv "$project/keys/ticket.key" "$folder/ticket.key"
finds 1 '^bad +secrets +.*/keys/ticket.key cannot be read'
says 0 'keys/ticket.key was made' "$dedloc" project upgrade "$project"
[[ $(stat -c %a "$project/keys/ticket.key") == 600 ]] || fail_test "others can read the ticket key"
key=$(<"$project/keys/ticket.key")
says 0 'is up to date already' "$dedloc" project upgrade "$project"
[[ $(<"$project/keys/ticket.key") == "$key" ]] || fail_test "another ticket key"
finds 1 '^bad +runs +the run earlier was made with another ticket key'
mv "$folder/ticket.key" "$project/keys/ticket.key"
finds 0 '^unknown  daemons'

echo "a running one"
"$dedloc" project start "$project" >/dev/null
finds 0 '^warning  downloads +no version of the app is published'
shows .is_database_up true
shows '.daemons | map(select(.restarts == 0 and .process > 0)) | length > 8' true
full='mount -t tmpfs -o size=40m tmpfs "$1/download" && exec "$2" project check "$1"'
if unshare --mount --map-root-user true 2>/dev/null; then
    unshare --mount --map-root-user bash -c "$full" _ "$project" "$dedloc" >"$output" 2>&1 || true
    grep -Eq '^bad +disk +(39|40) MB are free in .*/download' "$output" || fail_test "a full disk"
else
    echo "skipped: this user may not mount a small disk"
fi

echo "without some of its daemons"
supervisor=$(<"$project/pids/supervisor.pid")
kill -STOP "$supervisor" # it would restart them at once
kill -KILL "$(<"$project/pids/dedloc-purge.pid")" "-$(<"$project/pids/nginx.pid")" # its group
finds 1 '^bad +daemons +dedloc-purge does not run'
grep -Eq '^bad +daemons +no daemon accepts connections at' "$output" || fail_test "nginx runs"
shows '.daemons[] | select(.name == "dedloc-purge") | .process' 0
kill -KILL "$(<"$project/pids/mariadbd.pid")"
finds 1 '^bad +database +Cannot connect'
grep -q '^good *runs ' "$output" || fail_test "without the database nothing is checked"
shows .is_database_up false
shows '.runs[0].live' true
kill -CONT "$supervisor"
for daemon in dedloc-purge nginx mariadbd; do await 20 "$daemon to come back" runs $daemon; done
shows '.daemons[] | select(.name == "dedloc-purge") | .restarts' 1

echo "tables of an earlier version"
says 2 'is running: dedloc project stop' "$dedloc" project upgrade "$project"
await 20 "the backbone to answer" "$dedloc" run pause --project "$project" --name earlier
is_paused() { [[ $(sql <<<"select state from dedloc_run") == paused ]]; }
await 20 "the pause to be recorded" is_paused
sql <<<"create table kept_run as select id, name, run_id, state, spec, target_batch, steps,
    flops_per_sample, credit_per_sample, final_digest, created from dedloc_run"
sql <<<"select concat('drop table \`', table_name, '\`;') from information_schema.tables
    where table_schema = database() and table_name not in ('kept_run', 'app', 'app_version',
    'platform')" | sql
sql <<<"alter database character set utf8mb4 collate utf8mb4_general_ci" # as it was made then
sql <"$fixtures/earlier_schema.sql"
other_text() { # columns
    sql <<<"select count(*) from information_schema.columns where table_schema = database() and
        collation_name <> 'utf8mb4_nopad_bin'"
}
[[ $(other_text) -gt 20 ]] || fail_test "the earlier tables compare text by bytes"
sql <<<"drop table kept_run"
"$dedloc" project stop "$project" >/dev/null
finds 1 '^bad +schema +the table assignment is absent'
rm -r "$project/html" "$project/nginx/nginx.conf"
rm "$project"/runs/earlier/{ledger,voter} # the earlier contribution is in none
for tenths in {0..11}; do
    "$dedloc" project upgrade "$project" >/dev/null 2>&1 &
    upgrade=$!
    disown "$upgrade"
    sleep "$((tenths / 10)).$((tenths % 10))$((RANDOM % 10))"
    kill -KILL "$upgrade" 2>/dev/null || true
done
"$dedloc" project upgrade "$project" >"$output" || fail_test "the upgrade failed after kills"
says 0 'is up to date already' "$dedloc" project upgrade "$project"
finds 0 '^0 bad'
[[ -d $project/html && -s $project/nginx/nginx.conf ]] || fail_test "files were not written"
"$dedloc" project start "$project" >/dev/null
[[ $(other_text) == 0 ]] || fail_test "text is not compared by bytes"
# dedloc-purge may have compacted the contribution, which is old.
paid=$(sql <<<"select (select coalesce(sum(credit), 0) from dedloc_contribution
    where credit_state = 1) + (select coalesce(sum(credit), 0) from dedloc_daily_credit) =
    (select total_credit from user)")
[[ $paid == 1 ]] || fail_test "credit is lost"
"$dedloc" project stop "$project" >/dev/null
none_left "the project"
echo "passed"
