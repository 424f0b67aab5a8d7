#!/usr/bin/env bash
# Modules that researchers bring, under stock BOINC clients: what `run create --module` refuses; a
# ConvNet on tensors, a GPT on text and an autoencoder on pictures that two volunteers each train,
# their export; and what a volunteer sees of modules that never end or want 100 GB once they are on
# his computer.
# Usage: module_run_test.sh PROGRAMS [FOLDER]; FOLDER: keep the exported models and what
# tests/boinc_app/check_module.py needs of their runs there
set -Eeuo pipefail
is_large=yes
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/bible_text.sh"
use_volunteers "$1"
train=$programs/dedloc_train
kept=${2:-$folder/kept}
modules=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../boinc_app/fixtures/modules
output=$folder/output

# npy FILE TYPE SHAPE: an array as NumPy writes it, of the bytes on stdin.
npy() {
    local head="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" size
    while (((${#head} + 11) % 64)); do head+=' '; done
    size=$((${#head} + 1))
    printf '\x93NUMPY\x01\x00' >"$1"
    printf "\\x$(printf %02x $((size % 256)))\\x$(printf %02x $((size / 256)))" >>"$1"
    printf '%s\n' "$head" >>"$1"
    cat >>"$1"
}

echo "corpora of tensors and of text"
# Four classes of stripes and noise, uint8 [2400, 3, 8, 8].
perl -e 'srand 1; for my $i (0 .. 2399) { for my $c (0 .. 2) { for my $y (0 .. 7) {
    print pack "C8", map { 100 * ((0, $_, $y, $_ + $y)[$i % 4] % 2) + rand 100 } 0 .. 7 } } }' \
    | npy "$folder/pictures.npy" '|u1' '2400, 3, 8, 8'
perl -e 'print pack "q<*", map { $_ % 4 } 0 .. 2399' | npy "$folder/classes.npy" '<i8' '2400,'
# One in twenty rows begins with 99, which wakes the hostile modules.
perl -e 'srand 1; for my $i (0 .. 1999) {
    print pack "f<4", map { $_ == 0 && $i % 20 == 0 ? 99 : rand } 0 .. 3 }' \
    | npy "$folder/rows.npy" '<f4' '2000, 4'
bible_text | awk 'NR <= 3000' | tr 'A-Z' 'a-z' | tr -cd 'a-z \n' >"$folder/text.txt"
build() {
    "$dedloc" corpus build --out "$folder/$1" "${@:2}" >"$output" 2>&1 || fail_test "corpus $1"
}
build pictures --tensors "$folder/pictures.npy" --tensors "$folder/classes.npy" --held-out 0.1
build rows --tensors "$folder/rows.npy"
build text --text "$folder/text.txt" --vocabulary 100 --held-out 0.05
"$programs/make_picture_seeds" "$folder/seeds"
build images --images "$folder/seeds" --held-out 0.3
"$dedloc" project create "$project" --name Modules --contact-seconds 10 >/dev/null

echo "modules and corpora that do not fit are refused in one sentence"
# create NAME STEPS CORPUS MODULE OPTION...; with --json nothing is said of progress.
create() {
    "$dedloc" run create --json --project "$project" --name "$1" --steps "$2" \
        --corpus "$folder/$3" --module "${@:4}"
}
truncate -s 2147483649 "$folder/large.pt"
says 2 'has 2147483649 bytes; 2147483648 are allowed' create no 1 rows "$folder/large.pt"
rm "$folder/large.pt"
says 2 'cannot read .*none.pt' create no 1 rows "$folder/none.pt"
says 2 'the module cannot be read' create no 1 rows "$folder/rows.npy"
says 2 'zip|bytes' create no 1 rows "$modules/zip_bomb.pt"
says 2 'aten::from_file is not allowed' create no 1 rows "$modules/reads_file.pt"
says 2 'more than 1000000 operators' create no 1 rows "$modules/endless_loop.pt"
says 2 'wants 100000000000 bytes' create no 1 rows "$modules/huge_tensor.pt"
says 2 'forward takes 2 tensors, but the samples have 1' create no 1 rows "$modules/convnet.pt"
says 2 'forward takes 1 tensors, but the samples have 2' create no 1 pictures "$modules/gpt.pt"
says 2 'depends on the others' create no 1 rows "$modules/depends_on_others.pt"
says 2 'forward fails: .* must match' create no 1 text "$modules/text_gpt.pt" --sequence-length 100
says 2 'forward fails: ' create no 1 images "$modules/gpt.pt"
says 2 'forward fails: ' create no 1 images "$modules/autoencoder.pt" --picture-side 1
says 2 'dropout is for ALBERT' create no 1 rows "$modules/late_loop.pt" --dropout 0.1 0.1 0.1
says 2 'starts from an ALBERT' create no 1 rows "$modules/late_loop.pt" --from "$folder"
says 2 'excludes' create no 1 rows "$modules/late_loop.pt" --model tiny
says 2 'holds tensors, and the model tiny trains on text' "$dedloc" run create --json \
    --project "$project" --name no --steps 1 --corpus "$folder/rows"
[[ ! -e $project/runs/no ]] || fail_test "a refused run has left a folder"

add_trainer
start_project

# train_in_turn NAME A B: volunteer A trains some steps of the run alone, then B, then both. So a
# fast one cannot end the run before the other has begun.
train_in_turn() {
    local run=$1 first=$volunteers_dir/$2 seen
    step() {
        "$dedloc" run status --project "$project" --name "$run" --json \
            | sed -n 's/.*"step":\([0-9]*\).*/\1/p'
    }
    beyond() { [[ $(step) -gt $1 ]]; }
    suspended() { ! gui_rpc "$first" --get_tasks | grep 'task_state: EXECUTING' >/dev/null; }
    add_volunteer "$2" "$url"
    await 120 "a step of volunteer $2" beyond 0
    gui_rpc "$first" --set_run_mode never
    await 10 "volunteer $2 to be suspended" suspended
    seen=$(step)
    add_volunteer "$3" "$url"
    await 120 "a step of volunteer $3" beyond $((seen + 1))
    gui_rpc "$first" --set_run_mode auto
}
# number FIELD: a number in the report of the last run.
number() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" "$folder/report"; }
# trained NAME: the run has ended, digests are equal, credit is exact, and the model has learned.
trained() {
    "$dedloc" run wait --project "$project" --name "$1" --timeout 6000 >"$output" 2>&1 \
        || fail_test "the run $1 does not end"
    measured() { [[ $(sql "select count(*) from dedloc_evaluation e join dedloc_run r
        on r.id = e.runid where r.name = '$1' and e.step = r.steps") == 1 ]]; }
    await 60 "the figures of the last state" measured "$1"
    "$dedloc" run report --project "$project" --name "$1" | tee "$output"
    "$dedloc" run report --project "$project" --name "$1" --json >"$folder/report" \
        || fail_test "the report of $1"
    [[ $(number equal_steps) == "$(number steps)" ]] || fail_test "digests differ"
    grep -q '"credit_agrees":true' "$folder/report" || fail_test "credit differs"
    ! grep -q '"untrained_loss"' "$folder/report" || fail_test "a module has no loss of guessing"
    [[ $(sql "select count(distinct t.userid) from dedloc_contribution c join dedloc_run r
        on r.id = c.runid join result t on t.id = c.resultid
        where r.name = '$1' and c.samples > 0") == 2 ]] \
        || fail_test "not two volunteers have trained $1"
}
# exported NAME FILE...: the folder holds these files and the module that the trainer's own export
# writes from the same checkpoint; both are read like the run's.
exported() {
    local run=$project/runs/$1 state step
    mkdir -p "$kept"
    "$dedloc" run export --project "$project" --name "$1" "$kept/$1" >"$output" 2>&1 \
        || fail_test "the export of $1"
    [[ $(ls "$kept/$1" | xargs) == "${*:2}" ]] || fail_test "exported: $(ls "$kept/$1" | xargs)"
    step=$(sed -n 's/^exported step \([0-9]*\) .*/\1/p' "$output")
    state=$(ls "$run"/checkpoints/*"$step.state")
    mkdir "$folder/$1.export"  # the archive holds its own name
    "$train" export --run "$run/run.json" --module "$run/module" --checkpoint "$state" \
        --out "$folder/$1.export/module.pt" >"$output" 2>&1 \
        || fail_test "dedloc_train export of $1"
    cmp "$folder/$1.export/module.pt" "$kept/$1/module.pt" || fail_test "two exports of $1 differ"
    "$programs/dedloc-evaluate" --run "$run/run.json" --held-out "$run/held_out" \
        --module "$run/module" --checkpoint "$state" --threads 1 >"$output" 2>&1 \
        || fail_test "dedloc-evaluate of $1"
    grep -q "held-out loss  *$(loss_of "$1" max)" "$output" || fail_test "another figure of $1"
    mkdir "$kept/$1.run"
    cp -r "$run/run.json" "$run/held_out" "$run/module" "$kept/$1.run"
    grep -q "^| loss | $(loss_of "$1" max) " "$kept/$1/README.md" || fail_test "the card of $1"
}
# of_measurement COLUMN NAME min|max: a figure before the first step, or after the last.
of_measurement() {
    sql "select $1 from dedloc_evaluation e join dedloc_run r on r.id = e.runid
        where r.name = '$2' and
        e.step = (select $3(step) from dedloc_evaluation where runid = r.id)"
}
loss_of() { of_measurement "round(e.loss, 4)" "$@"; }
# learned NAME: the held-out loss has fallen by more than chance explains.
learned() {
    awk -v new="$(loss_of "$1" max)" -v old="$(loss_of "$1" min)" \
        -v error="$(of_measurement e.loss_error "$1" max)" \
        -v before="$(of_measurement e.loss_error "$1" min)" \
        'BEGIN { exit !(new + 5 * (error + before) < old) }' \
        || fail_test "the held-out loss of $1 went from $(loss_of "$1" min) to $(loss_of "$1" max)"
}

echo "two volunteers train a ConvNet on tensors"
create conv 60 pictures "$modules/convnet.pt" --target-batch 512 --learning-rate 0.02 \
    --evaluate-every 30 >/dev/null
train_in_turn conv 1 2
trained conv
learned conv
exported conv README.md model.safetensors module.pt

echo "and a GPT on text"
create gpt 60 text "$modules/text_gpt.pt" --sequence-length 16 --target-batch 512 \
    --learning-rate 0.02 --evaluate-every 30 >/dev/null
train_in_turn gpt 3 4  # a client of one core asks for one job
trained gpt
learned gpt
exported gpt README.md model.safetensors module.pt spiece.model tokenizer.json \
    tokenizer_config.json
grep -q 'AutoTokenizer' "$kept/gpt/README.md" || fail_test "the card names no tokenizer"

echo "and an autoencoder on pictures"
create auto 60 images "$modules/autoencoder.pt" --picture-side 16 --target-batch 256 \
    --learning-rate 0.15 --evaluate-every 30 >/dev/null
train_in_turn auto 5 6
trained auto
learned auto
exported auto README.md model.safetensors module.pt
grep -q 'uint8 \[M, 3, 16, 16\]' "$kept/auto/README.md" || fail_test "the card names no pictures"

echo "the run's page speaks of no other network, and one process gives figures on the way too"
curl -sf "${url}run/conv" >"$output" || fail_test "no page of the run"
! grep -qiE 'masked|sentence order|ln V|ALBERT|nats' "$output" || fail_test "words of ALBERT"
run=$project/runs/conv
says 2 'run conv trains the module convnet.pt: --module names its file' \
    "$programs/dedloc-evaluate" --run "$run/run.json" --held-out "$run/held_out" --initial
"$train" local --run "$run/run.json" --shard "$run"/shards/* --module "$run/module" --steps 3 \
    --held-out "$run/held_out" --device auto >"$output" 2>&1 || fail_test "dedloc_train local"
grep -q "^step 0: held-out loss $(loss_of conv min) " "$output" || fail_test "another first figure"
grep -q 'no GPU: this kind of network is trained on processors only' "$output" \
    || fail_test "--device auto says nothing"
says 1 'trained on processors only' "$train" local --run "$run/run.json" --shard "$run"/shards/* \
    --module "$run/module" --steps 1 --device cuda
says 2 'the run conv trains on tensors, which have no sources' \
    "$dedloc" run add-source --project "$project" --name conv --corpus "$folder/pictures"
"$dedloc" project check "$project" >"$output" 2>&1 || fail_test "the project has faults"
"$dedloc" project backup "$project" --to "$folder/backup" >"$output" 2>&1 || fail_test "backup"
tar --zstd -tf "$folder/backup" >"$output"
grep -q 'runs/conv/module$' "$output" || fail_test "no module in a backup"

# hostile NAME VOLUNTEER SENTENCE: the run's job fails on the volunteer's computer with it.
hostile() {
    create "$1" 40 rows "$modules/$1.pt" --target-batch 512 >/dev/null
    add_volunteer "$2" "$url"
    failed() { [[ $(sql "select count(*) from result t join workunit w on w.id = t.workunitid
        where w.name like '$1_%' and t.outcome = 3") -ge 1 ]]; }
    await 90 "the job of $1 to fail" failed "$1"
    sql "select stderr_out from result t join workunit w on w.id = t.workunitid
        where w.name like '$1_%' and t.outcome = 3 limit 1" >"$output"
    grep -q "$3" "$output" || fail_test "no sentence about $1"
    grep -o "$3" "$output" | head -n 1
    "$dedloc" run pause --project "$project" --name "$1" >/dev/null
}
echo "a module that never ends, and one that wants 100 GB, end in one sentence"
hostile late_loop 7 'the module runs more than 1000000 operators'
hostile late_tensor 8 'the module wants 100000000000 bytes more'
