#!/usr/bin/env bash
# Every command of dedloc prints with --json one object with the fields that
# project_server/cli/json.md lists; a command that is not listed there fails the test. An account,
# a computer, a ban, news and runs with steps are made for it.
# Usage: json_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
readme=$(dirname "${BASH_SOURCE[0]}")/../../project_server/cli/json.md
dedloc=$programs/dedloc
peer=$programs/dedloc-peer
project=$folder/project
output=$folder/answer # which a failure prints

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
# keep COMMAND...: what a command that cannot be repeated prints, in a file for its row. A program
# reads only the standard output, but there is no progress on the other one either.
keep() {
    "$dedloc" "$@" --json >"$folder/$1 $2.json" 2>"$folder/said" \
        || fail_test "$1 $2: $(<"$folder/said")"
    [[ ! -s $folder/said ]] || fail_test "$1 $2 says: $(<"$folder/said")"
}
keep project create "$project" --name JSON
keep corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100
keep corpus show "$folder/corpus"
keep corpus train-tokenizer --text "$(dirname "${BASH_SOURCE[0]}")/../../COPYING" \
    --out "$folder/pieces" --vocabulary 100
keep corpus tokenize --tokenizer "$folder/pieces" "$folder/text"
keep run create --project "$project" --name r --corpus "$folder/corpus" --model tiny \
    --target-batch 4 --steps 100000 --evaluate-every 0
"$dedloc" run create --project "$project" --name short --corpus "$folder/corpus" --model tiny \
    --target-batch 4 --steps 2 --evaluate-every 0 >/dev/null
sed 's/town/city/' "$folder/text" >"$folder/more"
"$dedloc" corpus build --source "a=$folder/text:1" --source "b=$folder/more:2" \
    --out "$folder/sources" --vocabulary 100 >/dev/null 2>&1
"$dedloc" run create --project "$project" --name mixed --corpus "$folder/sources" --model tiny \
    --target-batch 4 --steps 100 --evaluate-every 0 >/dev/null
keep app key "$folder/signing"
keep app sign --key "$project/keys/code_sign_private" --out "$folder/signatures" --binary /bin/true
keep app package --out "$folder/package" --binary /bin/true
keep app add --project "$project" --binary /bin/true --name tool
"$dedloc" app rekey --project "$project" --request "$folder/request" 2>/dev/null >/dev/null
"$dedloc" app key "$folder/new keys" >/dev/null
keep app endorse --request "$folder/request" --key "$project/keys/code_sign_private" \
    --new-keys "$folder/new keys" --out "$folder/endorsed"
keep app rekey --project "$project"
keep app require --project "$project" 1.0 --name tool --client 7.20.5
keep app withdraw --project "$project" 1.0 --name tool
keep project upgrade "$project"
keep project stop "$project"
keep project start "$project"
keep invite new --project "$project" --uses 2 --note class
keep invite revoke --project "$project" --id 1
keep news add --project "$project" --title Old --text Text
keep news remove --project "$project" --id 1
"$dedloc" news add --project "$project" --title News --text Text >/dev/null

url=$(config master_url)
hash=$(printf 'secret%s' v@example.org | md5sum | cut -d ' ' -f 1)
query="email_addr=v@example.org&user_name=v&passwd_hash=$hash"
account=$(curl -fs "${url}create_account.php?$query" \
    | sed -n 's|.*<authenticator>\(.*\)</authenticator>.*|\1|p')
request() {
    echo "<scheduler_request><authenticator>$account</authenticator><hostid>$1</hostid>"
    echo "<rpc_seqno>$2</rpc_seqno><platform_name>x86_64-pc-linux-gnu</platform_name>"
    echo "<host_info><domain_name>attic</domain_name><p_ncpus>2</p_ncpus></host_info>"
    echo "</scheduler_request>"
}
request 0 1 | curl -fs --data-binary @- "${url}cgi/scheduler" | grep -q '<hostid>1</hostid>'

"$peer" ticket "$project/runs/r/run.json" --project-key "$project/keys/project.key" \
    --key "$folder/key" --ticket "$folder/ticket" --user 1 --host 1 >/dev/null
"$peer" ticket "$project/runs/short/run.json" --project-key "$project/keys/project.key" \
    --key "$folder/key" --ticket "$folder/short" --user 1 --host 1 >/dev/null
"$peer" join "$project/runs/short/run.json" --key "$folder/key" --ticket "$folder/short" \
    --samples-per-second 20 --quiet >/dev/null 2>"$folder/short.log" || true
is_finished() {
    [[ $("$dedloc" run list --project "$project" --json | jq -r '.runs[1].state') == finished ]]
}
await 60 "the end of the short run" is_finished
"$peer" join "$project/runs/r/run.json" --key "$folder/key" --ticket "$folder/ticket" \
    --samples-per-second 20 --quiet >/dev/null 2>"$folder/peer.log" &
member=$!
has_step() {
    [[ $("$dedloc" run list --project "$project" --json | jq '.runs[0].step') -ge 3 ]]
}
await 60 "steps" has_step
is_live() {
    "$dedloc" run status --project "$project" --name mixed --json | jq -e .live >/dev/null
}
await 60 "the backbone of the run with sources" is_live
keep run mix --project "$project" --name mixed a=1 b=1
sed 's/town/ship/' "$folder/text" >"$folder/later"
"$dedloc" corpus build --tokenizer "$project/runs/mixed/tokenizer.model" --max-unknown 1 \
    --source "c=$folder/later" --out "$folder/later_corpus" >/dev/null 2>&1
keep run add-source --project "$project" --name mixed --corpus "$folder/later_corpus"
"$peer" ticket "$project/runs/mixed/run.json" --project-key "$project/keys/project.key" \
    --key "$folder/key" --ticket "$folder/mixed" --user 1 --host 1 >/dev/null
"$peer" join "$project/runs/mixed/run.json" --key "$folder/key" --ticket "$folder/mixed" \
    --samples-per-second 20 --quiet >/dev/null 2>"$folder/mixed.log" &
mixer=$!
has_mixed() {
    [[ $("$dedloc" run list --project "$project" --json | jq '.runs[2].step') -ge 3 ]]
}
await 60 "steps of the run with sources" has_mixed
keep run sources --project "$project" --name mixed

sql "insert into team (userid, name, name_lc) values (1, 'Team', 'team'), (1, 'Old', 'old');
    insert into dedloc_suspicion (source, runid, userid, hostid, what, first_seen, last_seen)
    values ('ticket', 1, 1, 1, 'many keys', 1, 2);
    insert into dedloc_evaluation values (1, 0, 8, 0.1, 32, 1, repeat('0', 64), unix_timestamp());
    insert into dedloc_presence values (1, 'key', unix_timestamp() - 60, unix_timestamp(), 1, 1, 1,
        1, 1, 100, '', 'a processor');
    update user set country = 'Bangladesh' where id = 1;
    insert ignore into app (name, user_friendly_name) values ('dedloc_train', 'Trainer');
    insert into workunit (id, appid, name, opaque, assimilate_state, transition_time)
    select 900, id, 'w', 1, 2, 2147483647 from app where name = 'dedloc_train';
    insert into result (name, workunitid, appid, app_version_id, userid, hostid, server_state,
        outcome, received_time) select concat('r', state), 900, id, 1, 1, 1, state, outcome,
        unix_timestamp() from app, (select 4 as state, 0 as outcome union select 5, 3) jobs
    where name = 'dedloc_train'"

"$programs/dedloc-credit" --project "$project" --once 2>/dev/null # its next pass is in minutes
keep run wait --project "$project" --name short --timeout 600
keep host ban --project "$project" attic
keep host unban --project "$project" attic
keep key ban --project "$project" "$(printf '%064d' 7)"
keep key unban --project "$project" "$(printf '%064d' 7)"
keep notice send --project "$project" --text "Please finish your task." --host attic
keep team close --project "$project" 2
keep team rename --project "$project" 1 Crew
keep run export --project "$project" --name r "$folder/model"
keep run jobs --project "$project" --name r --ready 3 --hours 2
keep run appoint --project "$project" --name r --file "$folder/voter"
keep run dismiss --project "$project" --name r "$(jq -r .key "$folder/run appoint.json")"

# print_json COMMAND: the command with its arguments.
print_json() {
    [[ ! -e $folder/$1.json ]] || { cat "$folder/$1.json"; return; }
    local run=(--project "$project" --json --name r)
    case $1 in
        "user show") "$dedloc" user show --project "$project" --json v@example.org ;;
        "user password") "$dedloc" user password --project "$project" --json v@example.org ;;
        "user ban") "$dedloc" user ban --project "$project" --json --reason rude v ;;
        "user promote") "$dedloc" user promote --project "$project" --json v@example.org ;;
        "user demote") "$dedloc" user demote --project "$project" --json v@example.org ;;
        "user unban") "$dedloc" user unban --project "$project" --json 1 ;;
        "host show") "$dedloc" host show --project "$project" --json attic ;;
        "run checkpoint list") "$dedloc" run checkpoint list "${run[@]}" ;;
        "run checkpoint verify") "$dedloc" run checkpoint verify "${run[@]}" ;;
        "run report") "$dedloc" run report "${run[@]}" 2>/dev/null || true ;; # the run goes on
        "project backup")
            rm -f "$folder/backup"
            "$dedloc" project backup "$project" --to "$folder/backup" --json ;;
        "project restore") # once for both rows
            "$dedloc" project restore "$folder/backup" "$folder/restored" --json \
                | tee "$folder/project restore.json" ;;
        "run list") "$dedloc" run list --project "$project" --json ;;
        project\ *) "$dedloc" $1 "$project" --json ;;
        run\ *) "$dedloc" run "${1#run }" "${run[@]}" ;;
        *) "$dedloc" $1 --project "$project" --json ;;
    esac
}
"$dedloc" key ban --project "$project" --reason spam "$(printf '%064d' 7)" >/dev/null
"$dedloc" user ban --project "$project" --reason rude 1 >/dev/null
rows=0 listed=" "
while IFS='|' read -r _ command path fields _; do
    [[ $command =~ \`(.*)\` ]] || continue
    command=${BASH_REMATCH[1]}
    [[ $path =~ \`(\..*)\` ]] || continue
    path=${BASH_REMATCH[1]}
    listed+="$command, "
    [[ $command != install ]] || continue # tests/project_server/official has such a project
    print_json "$command" >"$output"
    [[ $(wc -l <"$output") == 1 ]] || fail_test "$command prints more than one line"
    # Fails also where a list is empty.
    found=$(jq -er "[$path] | .[0] | keys | join(\" \")" "$output") \
        || fail_test "$command: nothing at $path"
    [[ $found == "$(xargs <<<"$fields")" ]] || fail_test "$command at $path has: $found"
    [[ $command != "user unban" ]] || "$dedloc" user ban --project "$project" 1 >/dev/null
    rows=$((rows + 1))
done <"$readme"
[[ $rows -ge 60 ]] || fail_test "only $rows rows in json.md"

# check_commands WORD...: of all commands below these words.
commands=0
check_commands() {
    local help names name
    help=$("$dedloc" "$@" --help)
    names=$(sed '1,/^Subcommands:/d' <<<"$help" | sed -n 's/^  \([a-z]\+\) .*/\1/p')
    if [[ -n $names ]]; then
        for name in $names; do check_commands "$@" "$name"; done
        return
    fi
    grep -q -- '--json' <<<"$help" || fail_test "$* has no --json"
    [[ $listed == *" $*, "* ]] || fail_test "json.md does not say what $* --json prints"
    commands=$((commands + 1))
}
check_commands
[[ $commands -ge 45 ]] || fail_test "only $commands commands were found"
"$dedloc" user show --project "$project" v >"$output"
grep -q '^is banned *yes' "$output" || fail_test "no text for people"

kill "$member" "$mixer" 2>/dev/null || true # the second one's run may be over
wait "$member" "$mixer" || true
"$dedloc" project stop "$project" >/dev/null
none_left "the project"
echo "passed: $rows rows, $commands commands"
