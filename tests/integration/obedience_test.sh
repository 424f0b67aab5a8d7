#!/usr/bin/env bash
# Three stock BOINC clients train together and a fourth, with too little memory, averages for them.
# Their users do what users do: one suspends the task and resumes it, one ends the client and starts
# it again, one loses it to kill -9, one allows less computing time, one less bandwidth. The apps
# obey each, measured from outside; the digests are equal, credit is granted, and the logs have no
# addresses.
# Usage: obedience_test.sh PROGRAMS
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
use_volunteers "$1"
# A round moves less than the MiB by which links are measured. Else a busy machine could measure so
# slow a link for the aggregator that it would have no part of the averaging, and measure no more.
steps=300

bible_text >"$folder/text"
"$dedloc" project create "$project" --name Obey --contact-seconds 10 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" >/dev/null
add_trainer
"$dedloc" app add --project "$project" --binary "$programs/dedloc_aggregate"
cat >"$folder/config.json" <<'JSON'
{"model_type": "albert", "architectures": ["AlbertForMaskedLM"], "vocab_size": 1000,
 "embedding_size": 32, "hidden_size": 64, "num_hidden_layers": 2, "num_hidden_groups": 1,
 "inner_group_num": 1, "num_attention_heads": 2, "intermediate_size": 256,
 "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_act": "gelu_new",
 "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0,
 "position_embedding_type": "absolute"}
JSON
"$dedloc" run create --project "$project" --name obey --corpus "$folder/corpus" \
    --model "$folder/config.json" --target-batch 96 --steps "$steps" --aggregators 1 \
    --evaluate-every 0 >/dev/null
start_project
# The trainers' links are those of homes, so a faster one takes a part of the averaging.
volunteer_preferences='<max_bytes_sec_up>2000000</max_bytes_sec_up>'
for number in 1 2 3; do add_volunteer "$number" "$url"; done
memory=$(awk '$1 == "MemTotal:" { print $2 / 1000 }' /proc/meminfo) # megabytes
percent=$(awk -v memory="$memory" 'BEGIN { print 100 * 250 / memory }')
volunteer_preferences="<ram_max_used_busy_pct>$percent</ram_max_used_busy_pct>
    <ram_max_used_idle_pct>$percent</ram_max_used_idle_pct>"
add_volunteer 4 "$url"

# log NUMBER: the log of the volunteer's app.
log() { echo "$volunteers_dir/$1"/slots/*/stderr.txt; }
log_text() { cat "$volunteers_dir/$1"/slots/*/stderr.txt 2>/dev/null || true; }
# app NUMBER: process id of the volunteer's app.
app() {
    local pid
    for pid in $(process_tree "${clients[$1]}"); do
        [[ $(cat "/proc/$pid/comm" 2>/dev/null) != dedloc_* ]] || echo "$pid"
    done | tail -n 1
}
# committed NUMBER: steps in which the volunteer's own samples were counted, as its log says.
committed() { grep -cE 'members, [1-9][0-9]* ours' < <(log_text "$1") || true; }
has_committed() { [[ $(committed "$1") -ge $2 ]]; }
trains() { # trains NUMBER: waits until two more steps count its samples.
    local before
    before=$(committed "$1")
    await 120 "volunteer $1 to contribute" has_committed "$1" $((${before:-0} + 2))
}
# averaged NUMBER: steps in which the volunteer averaged others' gradients.
averaged() { grep -c 'averaged here' < <(log_text "$1") || true; }
has_averaged() { [[ $(averaged "$1") -ge $2 ]]; }
averages() { # averages NUMBER: waits until it has averaged in two more steps.
    local before
    before=$(averaged "$1")
    await 120 "volunteer $1 to average" has_averaged "$1" $((${before:-0} + 2))
}
# silence NUMBER: milliseconds from the app's last word of a suspension until it has left.
silence() {
    local from to
    from=$(sed -n 's/ dedloc_[a-z]* info: suspended: leaving.*//p' < <(log_text "$1") | tail -n 1)
    to=$(sed -n 's/ dedloc_[a-z]* info: left the swarm$//p' < <(log_text "$1") | tail -n 1)
    [[ -n $from && -n $to ]] || fail_test "the log of volunteer $1 does not say that it left"
    echo $(($(date -d "$to" +%s%3N) - $(date -d "$from" +%s%3N)))
}
# page NUMBER: the status page of the volunteer's app, at the address that the client knows.
page() {
    local answer url
    exec 3<>"/dev/tcp/127.0.0.1/$(<"$volunteers_dir/$1/port")"
    printf '<boinc_gui_rpc_request>\n<get_results/>\n</boinc_gui_rpc_request>\n\003' >&3
    IFS= read -r -d $'\003' answer <&3
    exec 3<&-
    url=$(sed -n 's|.*<web_graphics_url>\(.*\)</web_graphics_url>.*|\1|p' <<<"$answer" | tail -n 1)
    [[ -n $url ]] || { echo "the client knows no page" && return; }
    curl -fsS --max-time 10 "$url" || true
}
page_says() { [[ $(page "$1") == *"$2"* ]]; }
# used NUMBER SECONDS: percent of a core that the volunteer's app uses.
used() {
    local pid before began
    pid=$(app "$1") before=$(ticks "$pid") began=$(milliseconds)
    sleep "$2"
    echo $((($(ticks "$pid") - before) * 1000 / ($(milliseconds) - began)))
}
# traffic NUMBER SECONDS: kilobytes a second that the app sends and receives, by its page.
traffic() {
    local before after began
    moved() {
        page "$1" | sed -nE 's|.*(Sent to other\|Received).*<td>([0-9.]+) MB</td>.*|\2|p' \
            | paste -sd ' '
    }
    before=$(moved "$1") began=$(milliseconds)
    sleep "$2"
    after=$(moved "$1")
    awk -v a="$before" -v b="$after" -v time=$(($(milliseconds) - began)) 'BEGIN {
        split(a, old); split(b, new)
        printf "%d %d\n", (new[1] - old[1]) * 1e6 / time, (new[2] - old[2]) * 1e6 / time }'
}
restarted() { local pid; pid=$(app "$1") && [[ -n $pid && $pid != "$2" ]]; }

echo "three volunteers train, and see it on a page"
for number in 1 2 3; do trains "$number"; done
await 20 "the page to show that it trains" page_says 1 "Training: computing samples"
output=$folder/page
page 1 >"$output"
for text in 'Loss of the model' '(this computer)' 'Credit of your account' 'IP address'; do
    grep -qF "$text" "$output" || fail_test "the page does not say: $text"
done

echo "volunteer 4 averages, beside other tasks and without a model"
averages 4
await 20 "the page to show that it averages" page_says 4 "Averaging: this computer averages"
output=$(log 4)
grep -q 'an aggregator holds one of averages' "$output" || fail_test "volunteer 4 has another app"
seats=$(sql "select count(*) from result r join app a on a.id = r.appid \
    where a.non_cpu_intensive = 1 and r.server_state = 4")
[[ $seats == 1 ]] || fail_test "$seats aggregators, and 1 is allowed"
resident=$(awk '$1 == "VmRSS:" { print $2 / 1000 }' "/proc/$(app 4)/status")
echo "the aggregator uses $(used 4 3) % of a core and $resident MB of memory"

for number in 1 4; do
    echo "the task of volunteer $number is suspended and resumed"
    home=$volunteers_dir/$number
    prefer "$number" leave_apps_in_memory 1 # else the client ends the app instead
    task=$(gui_rpc "$home" --get_tasks | sed -n 's/^ *name: //p' | head -n 1)
    silent() { tail -n 3 < <(log_text "$number") | grep -q 'left the swarm'; }
    began=$(milliseconds)
    gui_rpc "$home" --task "$url" "$task" suspend
    await 20 "volunteer $number to leave" silent
    echo "left the swarm $(($(milliseconds) - began)) ms after the client was told," \
        "$(silence "$number") ms after the app was"
    [[ $(silence "$number") -le 1000 ]] || fail_test "it takes longer than a second to leave"
    percent=$(used "$number" 3)
    echo "uses $percent % of a core while suspended"
    [[ $percent -le 5 ]] || fail_test "a suspended app uses $percent % of a core"
    page_says "$number" "BOINC has suspended this job" \
        || fail_test "the page does not say that it is suspended"
    gui_rpc "$home" --task "$url" "$task" resume
done
trains 1
averages 4

echo "the client of volunteer 2 is ended and started again"
old=$(app 2)
gui_rpc "$volunteers_dir/2" --quit
gone 60 "${clients[2]}" "$old" || fail_test "client or app of volunteer 2 does not end"
start_client 2
await 60 "the app of volunteer 2 to start again" restarted 2 "$old"
trains 2

echo "clients and apps of volunteers 3 and 4 are killed with -9"
declare -A old_apps=([3]=$(app 3) [4]=$(app 4))
kill_all KILL $(process_tree "${clients[3]}") $(process_tree "${clients[4]}")
for number in 3 4; do
    gone 20 "${clients[$number]}" "${old_apps[$number]}" \
        || fail_test "client or app of volunteer $number outlives kill -9"
    start_client "$number"
done
for number in 3 4; do
    await 60 "the app of volunteer $number to start again" restarted "$number" \
        "${old_apps[$number]}"
done
trains 3
averages 4

echo "volunteer 1 allows 30 % of computing time"
before=$(used 1 3)
prefer 1 cpu_usage_limit 30
obeys() { grep -q 'your preferences: compute 30 %' < <(log_text 1); }
await 60 "volunteer 1 to read its preferences" obeys
percent=$(used 1 10)
echo "uses $percent % of a core, $before % before"
[[ $percent -le 40 ]] || fail_test "the app uses $percent % of a core where 30 % is allowed"
prefer 1 cpu_usage_limit 100

echo "volunteers 2 and 4 allow 200 KB/s each way"
before=$(traffic 2 3)
capped() { grep -q 'send at most 200 KB/s, receive at most 200 KB/s' < <(log_text "$1"); }
for number in 2 4; do prefer "$number" max_bytes_sec_up 200000 max_bytes_sec_down 200000; done
for number in 2 4; do
    await 60 "volunteer $number to read its preferences" capped "$number"
done
traffic 4 8 >"$folder/traffic" &
after=$(traffic 2 8)
wait "$!"
echo "volunteer 2 sends and receives $after KB/s, $before KB/s before; 4 $(<"$folder/traffic")"
while read -r sent received; do
    [[ $sent -le 220 && $received -le 220 ]] || fail_test "more than 200 KB/s"
done <<<"$after
$(<"$folder/traffic")"
for number in 2 4; do prefer "$number" max_bytes_sec_up 0 max_bytes_sec_down 0; done
trains 2

echo "the run ends"
output=$folder/report
"$dedloc" run wait --project "$project" --name obey --timeout 3000 >"$output" 2>&1 \
    || fail_test "the run does not end"
"$dedloc" run report --project "$project" --name obey >"$output" 2>&1 || fail_test "no agreement"
grep -E 'equal at all members|credit' "$output"
grep -qE "equal at all members at $steps of $steps steps" "$output" || fail_test "digests differ"
"$dedloc" leaderboard --project "$project" >"$output"
for number in 1 2 3 4; do
    awk -v user="volunteer-$number" '$2 == user && $3 > 0 { found = 1 } END { exit !found }' \
        "$output" || fail_test "volunteer-$number has no credit"
done

echo "the logs are clean"
for log in "$volunteers_dir"/*/slots/*/stderr.txt "$project"/upload/*/*; do
    [[ -f $log ]] || continue
    output=$log
    ! grep -E ' (error|critical): |127\.0\.0\.1:[0-9]+' "$log" \
        | grep -v 'this job does is shown at' || fail_test "$log has an error or an address"
done
