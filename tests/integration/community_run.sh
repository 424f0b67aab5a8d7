#!/usr/bin/env bash
# A community's run, whole, as sahajBERT's was: texts of several sources with weights and a
# tokenizer of its own; three stock BOINC clients on hosts of their own, of which one joins by the
# notebook, one is behind a NAT, and one is killed with -9 in mid-run and comes back; the mixture of
# the sources is changed twice meanwhile. Then it prints and checks the evidence.
set -Eeuo pipefail

usage() {
    cat <<'USAGE'
Usage: community_run.sh PROGRAMS --tokenizer FILE --source NAME=PATH:WEIGHT... --mix WEIGHTS
                        --mix WEIGHTS [OPTION...]

PROGRAMS is the folder with dedloc, its daemons and dedloc_train. As root: hosts are network
namespaces that only this run sees. Prints samples of each source by the ledger, losses by source,
answers to masked sentences, digests, credit, and the report and the activity of the run.

  --tokenizer FILE    tokenizer.json of a Hugging Face Unigram tokenizer
  --source ...        as corpus build's, once for each; PATH is a file, or a folder of *.txt
  --mix WEIGHTS       NAME=WEIGHT of all sources in one argument; twice: after a third of the steps
                      and after two thirds
  --language CODE     language of the texts (en)
  --sentences FILE    sentences with [MASK], which the model answers; default: drawn
  --model FILE        config.json of an ALBERT; default: embeddings 64, hidden 128, 2 layers
  --steps N           (240)
  --batch N           samples of a step (48)
  --every N           steps between two measurements (20)
  --learning-rate R   (0.02)
  --keep FOLDER       a new folder where the project, logs and pictures of its pages stay; others
                      than root can enter the folders above it
USAGE
}

wrong() { echo "community_run: $1; see --help" >&2; exit 2; }
[[ ${1:-} != --help ]] || { usage; exit 0; }
original=("$@")
[[ -x ${1:-}/dedloc ]] || wrong "the first argument is the folder of the programs"
programs=$(realpath "$1")
shift
tokenizer='' sources=() names=() mixes=() language=en sentences='' model='' keep=''
steps=240 batch=48 every=20 rate=0.02
while [[ $# -gt 0 ]]; do
    [[ $1 != --help ]] || { usage; exit 0; }
    [[ -n ${2:-} ]] || wrong "$1 wants a value"
    case $1 in
        --tokenizer | --sentences | --model)
            [[ -r $2 ]] || wrong "$1 wants a file"
            declare "${1#--}=$(realpath "$2")" ;;
        --source) sources+=(--source "$2"); names+=("${2%%=*}") ;;
        --mix) mixes+=("$2") ;;
        --language) language=$2 ;;
        --steps | --batch | --every)
            [[ $2 =~ ^[1-9][0-9]{0,6}$ ]] || wrong "$1 wants a number"
            declare "${1#--}=$2" ;;
        --learning-rate) rate=$2 ;;
        --keep) keep=$(realpath -m -- "$2") ;;
        *) wrong "unknown argument '$1'" ;;
    esac
    shift 2
done
[[ -n $tokenizer ]] || wrong "--tokenizer is missing"
[[ ${#sources[@]} -ge 4 ]] || wrong "give two sources or more"
[[ ${#mixes[@]} == 2 ]] || wrong "give --mix twice"
[[ $steps -ge 60 ]] || wrong "--steps is at least 60"
[[ -z $keep || ! -e $keep ]] || wrong "there is $keep already"
if [[ -z ${DEDLOC_OWN_HOSTS:-} ]]; then
    if [[ $EUID != 0 ]] || ! unshare --mount --net true 2>/dev/null; then
        echo "only root can make hosts: not looked at"
        exit 77
    fi
    DEDLOC_OWN_HOSTS=yes exec unshare --mount --net --propagation private "$0" "${original[@]}"
fi
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
is_large=yes
source "$here/checks.sh"
source "$here/hosts.sh"
source "$here/../../project_server/volunteers.sh"
python=${DEDLOC_PYTHON:-/usr/bin/python3}
"$python" -c 'import nbclient, ipykernel' \
    || fail_test "nbclient and ipykernel are missing; ./setup installs them"
account=daemon # an account of every Debian: daemons of a public project do not run as root
work=${keep:-$folder}
mkdir -p "$work"/{home,pages,tmp} "$folder"/{libraries,programs}
chmod 755 "$folder" "$work"
chown "$account" "$work/home"
setpriv --reuid "$account" --regid "$account" --clear-groups test -w "$work/home" \
    || fail_test "the account $account, which the daemons run as, cannot enter $work"
# The account may not look into the folder that the programs are in, but here it may.
show() { # FOLDER AT: read-only, so nothing that cleans up can reach it
    mount --bind "$1" "$2"
    mount -o remount,ro,bind "$2"
}
at_end 'umount -l "$folder/programs" "$folder/libraries" 2>/dev/null'
libraries=$(ldd "$programs/dedloc_train" | sed -n 's|.*=> \(/.*\)/libtorch_cpu.so.*|\1|p')
show "$programs" "$folder/programs"
[[ -z $libraries ]] || show "$libraries" "$folder/libraries"
export LD_LIBRARY_PATH=$folder/libraries
dedloc=$folder/programs/dedloc
project=$work/home/project
volunteers_dir=$work/volunteers
output=$work/output
run=community
export TMPDIR=$work/tmp
fail() { fail_test "$@"; }
# of_run COMMAND...: a command on the run.
of_run() { "$dedloc" run "$1" --project "$project" --name "$run" "${@:2}"; }
# value EXPRESSION COMMAND...: what jq finds in the command's JSON.
value() { of_run "${@:2}" --json 2>>"$work/log" | jq -r "$1"; }
chapter() { printf '\n== %s  %s\n' "$(date +%H:%M:%S)" "$*"; }

# until_step N: waits as long as steps are made.
until_step() {
    local step=-1 last=-1 since=$SECONDS
    while [[ $step -lt $1 ]]; do
        sleep 2
        step=$(value .step status) || step=$last
        [[ $step == "$last" ]] || since=$SECONDS last=$step
        [[ $SECONDS -lt $((since + 1800)) ]] || fail "no step for half an hour after step $last"
        kill -0 "$notebook" 2>/dev/null || { output=$work/notebook.log; fail "the cell has ended"; }
    done
}
has_peers() { sleep 1; [[ $(value .peers status) -eq $1 ]]; }
hears() { sleep 1; grep -qs "$1" "$work/notebook.log"; }

chapter "a corpus of ${names[*]}"
"$dedloc" corpus build --documents line --language "$language" --tokenizer "$tokenizer" \
    --held-out 0.02 "${sources[@]}" --out "$work/corpus" 2>"$output" || fail "corpus build"
rm "$output"
vocabulary=$("$dedloc" corpus show "$work/corpus" --json | jq .vocabulary)
if [[ -z $model ]]; then
    model=$work/config.json
    jq -n --argjson pieces "$vocabulary" '{model_type: "albert", vocab_size: $pieces,
        embedding_size: 64, hidden_size: 128, num_hidden_layers: 2, num_hidden_groups: 1,
        inner_group_num: 1, num_attention_heads: 2, intermediate_size: 512,
        max_position_embeddings: 64, type_vocab_size: 2, hidden_act: "gelu_new",
        layer_norm_eps: 1e-12, hidden_dropout_prob: 0, attention_probs_dropout_prob: 0,
        classifier_dropout_prob: 0, pad_token_id: 0, bos_token_id: 2, eos_token_id: 3}' >"$model"
fi

# The account reads what a run is made of.
cp "$model" "$work/home/config.json"
[[ -z $sentences ]] || cp "$sentences" "$work/home/sentences"

chapter "the project, its run and its hosts"
make_street
ip addr add 10.78.0.1/24 dev street
add_host notebook 10
add_house nat 11 50 100
add_host killed 12
"$dedloc" project create "$project" --name "A community" --user "$account" \
    --listen 10.78.0.1:8080 --contact-seconds 5 >/dev/null
"$dedloc" app add --project "$project" --binary "$folder/programs/dedloc_train" \
    --no-gzip >/dev/null 2>"$output" || fail "app add"
"$dedloc" run create --project "$project" --name "$run" --corpus "$work/corpus" \
    --model "$work/home/config.json" --steps "$steps" --target-batch "$batch" \
    --warmup $((steps / 8)) --learning-rate "$rate" --codec fp16 \
    --evaluate-every "$every" --evaluate-samples 512 \
    ${sentences:+--masked-sentences "$work/home/sentences"} 2>"$output" || fail "run create"
rm "$output"
url=$(config master_url)
"$dedloc" project start "$project" >/dev/null
at_end "'$dedloc' project stop '$project' >/dev/null"
at_end end_clients

# The first one opens the notebook; the others are attached by boinccmd.
curl -fsS "${url}join.ipynb" -o "$work/join.ipynb"
DEDLOC_EMAIL=ada@example.org DEDLOC_PASSWORD=secret-word DEDLOC_NAME=Ada at notebook \
    "$python" "$here/run_notebook.py" "$work/join.ipynb" "$work/executed.ipynb" 1 \
    "$work/tmp/leave" >"$work/notebook.log" 2>&1 &
notebook=$!
volunteer_arguments="--micro-batch 8"
volunteer_hosts=([1]=nat [2]=killed)
add_volunteer 1 "$url"
add_volunteer 2 "$url"
await 600 "the three volunteers" has_peers 3
await 600 "a sample of the notebook's" hears 'counted after'
echo "joined by the notebook: first sample $(grep 'counted after' "$work/notebook.log")"
until_step 5

chapter "who can be dialled"
# said NUMBER PATTERN: lines of a volunteer's app.
said() { cat "$volunteers_dir/$1"/slots/*/stderr.txt | grep -E "$2" || true; }
for number in 1 2; do
    echo "${volunteer_hosts[$number]}:" \
        "averages of $(said $number 'MB averaged here' | wc -l) steps;" \
        "$(said $number 'is outbound-only' | head -n 1 | sed 's/.*info: //')"
done
[[ -n $(said 1 'cannot be dialled .* is outbound-only') ]] || fail "'nat' can be dialled"
[[ -z $(said 1 ' of 4 members.*MB averaged here') ]] \
    || fail "one that others cannot dial has averaged"

# killed_and_back: an end as by a loss of power; then the client begins with what is on its disk.
killed_and_back() {
    local all at
    chapter "the client of 'killed' and its app end with -9"
    all=$(process_tree "${clients[2]}")
    [[ $(wc -w <<<"$all") -ge 2 ]] || fail "there is no app to kill"
    at=$(value .step status)
    kill_all KILL $all
    gone 20 $all || fail "it does not end"
    await 120 "the swarm to see that it is gone" has_peers 2
    until_step $((at + 4))
    echo "killed after step $at; step $(value .step status) was made without it"
    start_client 2
    await 600 "its return" has_peers 3
    echo "back after step $(value .step status)"
}

until_step $((steps / 3))
chapter "the first change: ${mixes[0]}"
# shellcheck disable=SC2086 # a word for each source
first=$(value .from_step mix ${mixes[0]})
until_step $((first + 2))
killed_and_back
until_step $((steps * 2 / 3 - 6))
second=$(($(value .step status) + 6))
chapter "the second change, announced ahead: ${mixes[1]}"
# shellcheck disable=SC2086 # a word for each source
of_run mix ${mixes[1]} --from-step "$second"
until_step $((second + 2))
of_run status >"$work/status-in-mid-run"
cat "$work/status-in-mid-run"
until_step "$steps"
touch "$work/tmp/leave" # the reader of the notebook presses stop
wait "$notebook" || { output=$work/notebook.log; fail "the notebook"; }
grep '^left in' "$work/notebook.log"
of_run wait --timeout 3000 >"$output" 2>&1 || fail "the run does not end"
measured() { sleep 1; [[ $(value '.held_out[-1].step' status) == "$steps" ]]; }
await 300 "the figures of the last state" measured

chapter "samples of each source, by the verified ledger"
of_run sources
of_run sources --json >"$work/sources.json"
jq -e "[.mixtures[] | .first_step, .last_step] ==
    [0, $first - 1, $first, $second - 1, $second, $steps - 1]" "$work/sources.json" >/dev/null \
    || fail "other steps than 0, $first, $second"
jq -e '[.mixtures[].sources[] | (.samples - .expected) * (.samples - .expected)
    <= 25 * .expected * (1 - .share)] | all' "$work/sources.json" >/dev/null \
    || fail "more than five standard deviations"
[[ $(jq '[.mixtures[].samples] | add' "$work/sources.json") == \
    "$(value '[.contributions[].samples] | add' contributions)" ]] || fail "other samples"

chapter "digests and credit"
of_run report --json >"$work/report.json" || fail "no agreement"
jq -e '.equal_steps == .steps and .credit_agrees and .open_jobs + .pending_contributions == 0' \
    "$work/report.json" >/dev/null || fail "digests or credit: $(<"$work/report.json")"
jq -r '"equal digests after \(.equal_steps) of \(.steps) steps; credit \(.credit), exactly: \(
    .credit_agrees)"' "$work/report.json"
sql "select concat(u.name, ': ', sum(c.samples), ' samples, credit ', u.total_credit)
    from dedloc_contribution c join result t on t.id = c.resultid join user u on u.id = t.userid
    where c.samples > 0 group by u.id"

chapter "held-out loss by source"
curl -sf "${url}run/$run.json" >"$work/run.json" || fail "no JSON of the run"
jq -r '(["update"] + .sources), (.source_curve[] | map(. * 10000 | round / 10000))
    | map(tostring) | join("\t")' "$work/run.json"
[[ $(jq '.source_curve | length' "$work/run.json") -ge 5 ]] || fail "less than five measurements"

chapter "what the model says"
jq -r '.sentences[] | "\(.before) [\(.wanted // "?")] \(.after)", (.states[] |
    "  \(.step): \([.words[] | "\(.word) \(.share)"] | join(", "))")' "$work/run.json"
[[ $(jq '[.sentences[].states | length] | min' "$work/run.json") -ge 5 ]] || fail "few answers"

chapter "the story"
of_run report | tee "$work/report"
of_run activity | tee "$work/activity"
of_run activity --json >"$work/activity.json"
if command -v chromium >/dev/null; then
    chapter "pictures of the pages"
    "$dedloc" user promote --project "$project" volunteer-1 >/dev/null
    "$python" "$here/page_pictures.py" "$url" volunteer-1@example.org password-1 "$work/pages" \
        "run/$run" admin "admin/run/$run" || fail "pages"
fi
chapter "the project"
"$dedloc" project check "$project" || fail "the project has faults"
echo passed
