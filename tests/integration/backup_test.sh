#!/usr/bin/env bash
# A project is backed up while two members train, and restored elsewhere while they are ahead of the
# backup: they go on from the backup's step in a new generation, and credit is samples × rate. A
# source that was added after the backup is missed, and put back by the same command. A backup that
# is killed, or for which the disk is too small, leaves nothing; what is no intact backup is
# refused.
# Usage: backup_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
dedloc=$programs/dedloc
peer=$programs/dedloc-peer
project=$folder/"My project'\"\$(x);*?ü%20&#"
# A database's socket has 107 bytes for its path, and a project 230.
restored=$folder/"restored \$(x);*?[a]ü%20 #$(printf 'x%.0s' {1..150})"
backup=$folder/"a backup;*.tar.zst"
log=$project/log/dedloc-backbone-r.log
output=$log # which a failure prints

# killed_after SECONDS COMMAND...
killed_after() {
    "${@:2}" >/dev/null 2>&1 &
    sleep "$1"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
}

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
printf 'name:password\n' >"$folder/relay"
"$dedloc" project create "$project" --name Backup --contact-seconds 10 --mail-from p@example.org \
    --mail-relay smtp://localhost:9 --mail-credentials "$folder/relay" >/dev/null
"$dedloc" corpus build --source "town=$folder/text" --out "$folder/corpus" --vocabulary 100 \
    >/dev/null
for name in port ship; do # sources that are added later
    sed "s/town/$name/" "$folder/text" >"$folder/$name.txt"
    "$dedloc" corpus build --tokenizer "$folder/corpus/tokenizer.model" --max-unknown 1 \
        --source "$name=$folder/$name.txt" --out "$folder/$name" >/dev/null 2>&1
done
"$dedloc" run create --project "$project" --name r --corpus "$folder/corpus" --model tiny \
    --target-batch 12 --steps 100000 --evaluate-every 0 >/dev/null
says 0 'stopped.tar.zst: .* files, ' \
    "$dedloc" project backup "$project" --to "$folder/stopped.tar.zst"
"$dedloc" project start "$project" >/dev/null

url=$(config master_url)
hash=$(printf 'secret%s' v@example.org | md5sum | cut -d ' ' -f 1)
query="email_addr=v@example.org&user_name=v&passwd_hash=$hash"
account=$(curl -fs "${url}create_account.php?$query" \
    | sed -n 's|.*<authenticator>\(.*\)</authenticator>.*|\1|p')
# new_host NUMBER: a computer of the only account; prints its id.
new_host() {
    curl -fs --data-binary @- "${url}cgi/scheduler" <<END \
        | sed -n 's|.*<hostid>\(.*\)</hostid>.*|\1|p'
<scheduler_request><authenticator>$account</authenticator><hostid>0</hostid>
<rpc_seqno>1</rpc_seqno><platform_name>x86_64-pc-linux-gnu</platform_name>
<host_info><domain_name>host-$1</domain_name><p_ncpus>2</p_ncpus></host_info>
</scheduler_request>
END
}
members=()
for number in 1 2; do
    [[ $(new_host "$number") == "$number" ]] || fail_test "no host $number"
    # Both keys sign tickets of the run.
    signer=$([[ $number == 1 ]] && echo project || echo ticket)
    "$peer" ticket "$project/runs/r/run.json" --project-key "$project/keys/$signer.key" \
        --key "$folder/$number.key" --ticket "$folder/$number.ticket" --user 1 --host "$number" \
        >/dev/null
    "$peer" join "$project/runs/r/run.json" --key "$folder/$number.key" \
        --ticket "$folder/$number.ticket" --samples-per-second 10 --quiet \
        >"$folder/$number.out" 2>"$folder/$number.log" &
    members+=($!)
done
steps() { grep -o ' step [0-9]*: loss' "$log" 2>/dev/null | tail -n 1 | tr -dc '0-9'; }
has_step() { [[ $(steps || true) -ge $1 ]]; }
await 90 "the first steps" has_step 3
has_contributions() {
    [[ $(sql 'select count(distinct peer_key) from dedloc_contribution where samples > 0') -ge 2 ]]
}
await 30 "contributions in the database" has_contributions
# What the gateway writes when it issues a ticket.
sql 'insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, expires)
    select distinct runid, peer_key, 0, 1, 1, 1, 4000000000 from dedloc_contribution
    where samples > 0'

# While it runs.
"$dedloc" project backup "$project" --to "$backup" --json >"$folder/answer"
jq -e '.files > 10 and .bytes > 0' "$folder/answer" >/dev/null || fail_test "$(<"$folder/answer")"
last=$("$dedloc" project status "$project" --json | jq -c '[.last_backup.file, .warnings]')
[[ $last == "[\"$backup\",[]]" ]] || fail_test "status knows another backup: $last"
[[ $(stat -c %a "$backup") == 600 ]] || fail_test "others can read the backup"
mkdir "$folder/unpacked"
tar --zstd -xf "$backup" -C "$folder/unpacked"
(cd "$folder/unpacked" && sha256sum --quiet -c SHA256SUMS) || fail_test "digests differ"
cmp "$folder/relay" "$folder/unpacked/mail_credentials"
for name in log db pids runs/r/voter runs/r/events; do
    [[ ! -e $folder/unpacked/project/$name ]] || fail_test "the backup has $name"
done
says 2 'exists already' "$dedloc" project backup "$project" --to "$backup"

# Killed at any moment it leaves nothing that counts, and the same command works again.
killed=$folder/killed.tar.zst
for after in 0.02 0.1 0.3; do
    killed_after "$after" "$dedloc" project backup "$project" --to "$killed"
    rm -f "$killed" # if it was faster
done
says 0 'files' "$dedloc" project backup "$project" --to "$killed"
[[ -z $(find "$folder" -maxdepth 1 -name '.killed*') ]] || fail_test "a backup left files behind"

# A disk that is too small.
if unshare --mount true 2>/dev/null; then
    mkdir "$folder/small"
    for size in 16k 100k; do # less than the database, less than the archive
        says 1 'No space left' unshare --mount bash -c \
            'mount -t tmpfs -o "size=$4" none "$1" && "$2" project backup "$3" --to "$1/b" && exit 9
            status=$?; [[ -z $(ls -A "$1") ]] || echo "left behind: $(ls -A "$1")"; exit $status' \
            _ "$folder/small" "$dedloc" "$project" $size
    done
else
    echo "not checked here: a full disk, which needs a mount"
fi

# What is no intact backup.
says 2 'there is no file' "$dedloc" project restore "$folder/none" "$restored"
head -c 3000 "$backup" >"$folder/short"
says 2 'damaged|incomplete' "$dedloc" project restore "$folder/short" "$restored"
sed -i 's/"dedloc backup 1"/"dedloc backup 9"/' "$folder/unpacked/backup.json"
(cd "$folder/unpacked" && tar --zstd -cf ../version backup.json README SHA256SUMS)
says 2 'is "dedloc backup 9": this program restores "dedloc backup 1"' \
    "$dedloc" project restore "$folder/version" "$restored"
sed -i 's/"dedloc backup 9"/"dedloc backup 1"/' "$folder/unpacked/backup.json"
echo "-- one more line" >>"$folder/unpacked/database.sql"
(cd "$folder/unpacked" && tar --zstd -cf ../changed backup.json README database.sql \
    mail_credentials $(find project -type f) SHA256SUMS)
says 2 'database.sql has another digest' "$dedloc" project restore "$folder/changed" "$restored"
says 2 'exists already' "$dedloc" project restore "$backup" "$project"
[[ ! -e $restored && -z $(find "$folder" -maxdepth 1 -name '.restored*') ]] \
    || fail_test "a refused backup left a folder behind"

# The members go on after the backup; then the machine is lost.
saved=$(steps)
await 60 "steps after the backup" has_step $((saved + 4))
# A source is added, too. Members of a round that is drawn by the new mixture know of it.
"$dedloc" run add-source --project "$project" --name r --corpus "$folder/port" >/dev/null
changed=$("$dedloc" run mix --project "$project" --name r --json town=1 port=1 | jq .from_step)
await 60 "steps of the new mixture" has_step $((changed + 2))
kill -KILL "$(<"$project/pids/supervisor.pid")"
no_backbone() { # those of $project, which is an argument of theirs
    local processes=(/proc/[0-9]*/cmdline)
    [[ -z $(grep -lzxF -- "$project" "${processes[@]}" 2>/dev/null || true) ]]
}
await 20 "the end of the daemons" no_backbone
ahead=$(steps)
mv "$project" "$folder/lost"

killed_after 0.5 "$dedloc" project restore "$backup" "$restored"
[[ ! -e $restored ]] || fail_test "a killed restore left a project"
"$dedloc" project restore "$backup" "$restored" --json >"$folder/answer"
[[ $(stat -c %a "$restored") == 700 ]] || fail_test "others can read the restored project"
step=$(jq .runs[0].step "$folder/answer")
generation=$(jq .runs[0].generation "$folder/answer")
[[ $step -le $saved && $step -ge 3 && $generation -gt 1700000000 ]] \
    || fail_test "$(<"$folder/answer")"
grep -qF "$restored/download" "$restored/config.xml" || fail_test "config.xml names the old folder"
cmp "$folder/relay" "$restored/keys/mail_credentials"
cmp "$folder/lost/keys/ticket.key" "$restored/keys/ticket.key"
"$dedloc" project start "$restored" >/dev/null
log=$restored/log/dedloc-backbone-r.log
output=$log
await 60 "steps after the restore" has_step $((ahead + 3))
echo "backed up at step $step, members at $ahead: went on in generation $generation"
[[ $(grep -o ' step [0-9]*: loss' "$log" | head -n 1 | tr -dc '0-9') == "$((step + 1))" ]] \
    || fail_test "the first step after the restore does not follow the backup's ledger"
grep -q "generation $generation begins" "$log" || fail_test "no new generation"
[[ $(new_host 3) -gt 1000000 ]] || fail_test "a computer's id was given out again"
# The members have told the restored backbone of the source, whose files the backup has not.
add_to_restored() {
    "$dedloc" run add-source --project "$restored" --name r --corpus "$folder/$1"
}
# adds NAME SENTENCE: what it says; a slow machine is also told what it does.
adds() {
    add_to_restored "$1" >"$folder/answer" 2>"$folder/added.log" \
        || fail_test "source $1 is not added: $(<"$folder/added.log")"
    grep -q "$2" "$folder/answer" || fail_test "$(<"$folder/answer")"
}
knows_source() {
    "$dedloc" run status --project "$restored" --name r --json \
        | jq -e '.sources | length == 2' >/dev/null
}
await 60 "the backbone to hear of the source" knows_source
lacking='the run r lacks the added source [0-9a-f]{16}: '
check_restored() {
    "$dedloc" project check "$restored" >"$folder/check" 2>&1 || true
    grep -Eq '^[0-9]+ bad' "$folder/check" || fail_test "no check: $(<"$folder/check")"
}
check_restored
grep -Eq "$lacking" "$folder/check" || fail_test "not missed: $(<"$folder/check")"
says 2 "$lacking.*; repeat its dedloc run add-source" add_to_restored ship
adds port 'has the files of source port again'
diff -r "$folder/lost/runs/r/shards" "$restored/runs/r/shards"
check_restored
! grep -E "$lacking|shard" "$folder/check" | grep bad || fail_test "$(<"$folder/check")"
adds port 'has source port already'
adds ship 'has source ship now'
has_checkpoints() {
    local rows
    rows=$(cd "$restored/db" && project=$restored && MYSQL_PWD=$(config db_passwd) mariadb \
        --no-defaults --skip-column-names --socket mariadb.sock --user "$(config db_user)" \
        "$(config db_name)" --execute 'select count(*) from dedloc_checkpoint')
    [[ $rows -ge 1 ]]
}
await 60 "the rows of checkpoints" has_checkpoints
kill "${members[@]}"
wait "${members[@]}" || true
report_agrees() {
    "$dedloc" run report --project "$restored" --name r --json 2>/dev/null \
        | jq -e '.credit_agrees and .credit > 0' >/dev/null
}
await 60 "the credit" report_agrees
"$dedloc" run report --project "$restored" --name r --json >"$folder/report" 2>/dev/null || true
equal=$(jq .equal_steps "$folder/report")
[[ $equal -ge 3 ]] || fail_test "members' states differ: $equal equal steps"
"$dedloc" project stop "$restored" >/dev/null
if grep -h 'aborted\|check failed' "$log"; then fail_test "a check failed"; fi
none_left "the project"
