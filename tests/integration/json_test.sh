#!/usr/bin/env bash
# Every command of dedloc that reads prints with --json one object with the fields that
# project_server/cli/README.md lists. An account, a computer, a ban, news and a run with steps are
# made for it.
# Usage: json_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
readme=$(dirname "${BASH_SOURCE[0]}")/../../project_server/cli/README.md
dedloc=$programs/dedloc
peer=$programs/dedloc-peer
project=$folder/project
output=$folder/answer # which a failure prints

for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name JSON >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null
"$dedloc" run create --project "$project" --name r --corpus "$folder/corpus" --model tiny \
    --target-batch 4 --steps 100000 --evaluate-every 0 >/dev/null
"$dedloc" project start "$project" >/dev/null
"$dedloc" news add --project "$project" --title News --text Text >/dev/null

url=$(sed -n 's|.*<master_url>\(.*\)</master_url>.*|\1|p' "$project/config.xml")
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
"$peer" join "$project/runs/r/run.json" --key "$folder/key" --ticket "$folder/ticket" \
    --samples-per-second 20 --quiet >/dev/null 2>"$folder/peer.log" &
member=$!
has_step() {
    [[ $("$dedloc" run list --project "$project" --json | jq '.runs[0].step') -ge 3 ]]
}
await 60 "steps" has_step

config() { sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" "$project/config.xml"; }
MYSQL_PWD=$(config db_passwd) mariadb --no-defaults --socket "$project/db/mariadb.sock" \
    --user "$(config db_user)" "$(config db_name)" <<END
insert into team (userid, name, name_lc) values (1, 'Team', 'team');
insert into dedloc_suspicion (source, runid, userid, hostid, what, first_seen, last_seen)
values ('ticket', 1, 1, 1, 'many keys', 1, 2)
END

# print_json COMMAND: the command with its arguments.
print_json() {
    local run=(--project "$project" --json --name r)
    case $1 in
        "user show") "$dedloc" user show --project "$project" --json v@example.org ;;
        "user password") "$dedloc" user password --project "$project" --json v@example.org ;;
        "user ban") "$dedloc" user ban --project "$project" --json --reason rude v ;;
        "user unban") "$dedloc" user unban --project "$project" --json 1 ;;
        "host show") "$dedloc" host show --project "$project" --json attic ;;
        "run checkpoint list") "$dedloc" run checkpoint list "${run[@]}" ;;
        "run checkpoint verify") "$dedloc" run checkpoint verify "${run[@]}" ;;
        "run report") "$dedloc" run report "${run[@]}" 2>/dev/null || true ;; # the run goes on
        "project backup")
            rm -f "$folder/backup"
            "$dedloc" project backup "$project" --to "$folder/backup" --json ;;
        "project restore") # once for both rows
            [[ -d $folder/restored ]] || "$dedloc" project restore "$folder/backup" \
                "$folder/restored" --json >"$folder/restored.json"
            cat "$folder/restored.json" ;;
        "run list") "$dedloc" run list --project "$project" --json ;;
        project\ *) "$dedloc" $1 "$project" --json ;;
        run\ *) "$dedloc" run "${1#run }" "${run[@]}" ;;
        *) "$dedloc" $1 --project "$project" --json ;;
    esac
}
"$dedloc" key ban --project "$project" --reason spam "$(printf '%064d' 7)" >/dev/null
"$dedloc" user ban --project "$project" --reason rude 1 >/dev/null
rows=0
while IFS='|' read -r _ command path fields _; do
    [[ $command =~ \`(.*)\` ]] || continue
    command=${BASH_REMATCH[1]}
    [[ $path =~ \`(\..*)\` ]] || continue
    path=${BASH_REMATCH[1]}
    print_json "$command" >"$output"
    [[ $(wc -l <"$output") == 1 ]] || fail_test "$command prints more than one line"
    # Fails also where a list is empty.
    found=$(jq -er "[$path] | .[0] | keys | join(\" \")" "$output") \
        || fail_test "$command: nothing at $path"
    [[ $found == "$(xargs <<<"$fields")" ]] || fail_test "$command at $path has: $found"
    [[ $command != "user unban" ]] || "$dedloc" user ban --project "$project" 1 >/dev/null
    rows=$((rows + 1))
done <"$readme"
[[ $rows -ge 20 ]] || fail_test "only $rows rows in the README"
"$dedloc" user show --project "$project" v >"$output"
grep -q '^is banned *yes' "$output" || fail_test "no text for people"

kill "$member"
wait "$member" || true
"$dedloc" project stop "$project" >/dev/null
none_left "the project"
echo "passed: $rows rows"
