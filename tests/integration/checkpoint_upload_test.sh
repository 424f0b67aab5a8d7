#!/usr/bin/env bash
# The backbone of a project writes no checkpoints, so the project asks a trainer under a stock BOINC
# client for the run's state. It is uploaded while the job runs, accepted by the ledger, and listed
# with its source; a second client whose job uploads none is valid all the same.
# Usage: checkpoint_upload_test.sh PROGRAMS [STEPS]
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
use_volunteers "$folder/bin"
steps=${2:-90}

# The programs, with a backbone that saves its last state only. `dedloc` finds the others beside it.
mkdir "$programs"
for program in "$(realpath "$1")"/*; do ln -s "$program" "$programs/"; done
rm "$programs/dedloc" "$programs/dedloc-backbone"
cp "$(realpath "$1")/dedloc" "$programs/"
cat >"$programs/dedloc-backbone" <<SCRIPT
#!/usr/bin/env bash
exec "$(realpath "$1")/dedloc-backbone" "\$@" --checkpoint-every 1000000
SCRIPT
chmod +x "$programs/dedloc-backbone"

bible_text >"$folder/text"
"$dedloc" project create "$project" --name Upload --contact-seconds 10 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" >/dev/null
add_trainer
"$dedloc" run create --project "$project" --name up --corpus "$folder/corpus" --model tiny \
    --steps $steps --evaluate-every 0 >/dev/null
start_project
# Clients have measured nothing yet; those here upload a megabyte a second.
sql "create trigger measured before update on host for each row set new.n_bwup = 1e6"
volunteer_preferences='<disk_interval>5</disk_interval>'

log_text() { cat "$volunteers_dir/$1"/slots/*/stderr.txt 2>/dev/null || true; }
says_log() { grep -q "$2" < <(log_text "$1"); }
has_steps() { [[ $(sql "select coalesce(max(step), 0) from dedloc_step") -ge $1 ]]; }
verdict() { [[ $(sql "select verdict from dedloc_upload where verdict <> ''") == *"$1"* ]]; }
is_asked() { [[ $(sql "select count(*) from dedloc_upload") -gt 0 ]]; }
judged() { [[ $(sql "select count(*) from result where validate_state = 1") -ge $1 ]]; }

echo "the first volunteer trains, and is not asked while there is nothing to get"
add_volunteer 1 "$url"
await 180 "the first steps" has_steps 3
[[ $(sql "select count(*) from dedloc_upload") == 0 ]] || fail_test "asked too early"

echo "the second one's ticket comes with the request, and its state is uploaded while it trains"
add_volunteer 2 "$url"
await 180 "the request" is_asked
# The run must not end before the state is saved, which happens a minute after the job's start.
await 180 "the second one to train" says_log 2 "members, [1-9][0-9]* ours"
await 300 "more steps" has_steps 12
"$dedloc" run pause --project "$project" --name up >/dev/null
await 180 "the upload" says_log 2 "the project has received the model's state"
grep "model's state" < <(log_text 2)
"$dedloc" run resume --project "$project" --name up >/dev/null
await 60 "the verdict" verdict accepted
output=$folder/list
"$dedloc" run checkpoint list --project "$project" --name up >"$output"
grep -E 'step .* proven .*user [0-9]+, host [0-9]+, result up_[0-9]+_[0-9]+' "$output" \
    || fail_test "the list has no uploaded checkpoint"
"$dedloc" run checkpoint verify --project "$project" --name up >"$output" 2>&1 \
    || fail_test "the uploaded checkpoint is not proven"
[[ $(sql "select count(*) from dedloc_suspicion") == 0 ]] || fail_test "an honest job is suspected"

echo "both jobs are valid, the one that uploaded no state too"
"$dedloc" run wait --project "$project" --name up --timeout 6000 >"$output" 2>&1 \
    || fail_test "the run does not end"
await 60 "the verdicts on both jobs" judged 2
[[ $(sql "select count(*) from result where validate_state = 2 or outcome = 3") == 0 ]] \
    || fail_test "a job has failed"
