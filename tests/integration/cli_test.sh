#!/usr/bin/env bash
# `dedloc` and the demo report each error in one sentence and leave nothing behind; a project's
# daemons start, are restarted after a kill, and stop together.
# Usage: cli_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$1
dedloc=$programs/dedloc
demo=$(dirname "${BASH_SOURCE[0]}")/../../project_server/demo
# What shells, XML, nginx, SQL, JSON, URLs and MariaDB's lists of folders take as their own. The
# path of the database's socket in it is longer than a socket's may be.
p=$folder/"-My project'\"\$(x);*?[a]\\ü%20&amp;#{}<b>:|~@=+,! the longest that fits in"

echo "wrong arguments"
says 2 'subcommand is required' "$dedloc"
says 2 'DIR is required' "$dedloc" project create
says 2 '--name is required' "$dedloc" project create "$p"
says 2 'not expected' "$dedloc" project create "$p" --name x --bogus
says 2 '--listen wants HOST:PORT' "$dedloc" project create "$p" --name x \
    --listen 127.0.0.1:70000
says 2 'neither with http' "$dedloc" project create "$p" --name x --url train.example.org
says 2 'name a certificate' "$dedloc" project create "$p" --name x \
    --url https://train.example.org/
says 2 'cli_test.sh is no certificate' "$dedloc" project create "$p" --name x \
    --listen 127.0.0.1:0 --url https://127.0.0.1/ --certificate "${BASH_SOURCE[0]}" \
    --certificate-key "${BASH_SOURCE[0]}"
says 2 'name the --url' "$dedloc" project create "$p" --name x --listen 0.0.0.0:0
[[ $EUID != 0 ]] || says 2 'must not run as root' "$dedloc" project create "$p" --name x \
    --listen 0.0.0.0:0 --url http://train.example.org/
[[ $EUID != 0 ]] || says 2 'there is no user' "$dedloc" project create "$p" --name x \
    --user no-such-user
says 2 '--contact-seconds' "$dedloc" project create "$p" --name x --contact-seconds 1
says 2 'not a numeric IPv4 or IPv6 address' "$dedloc" project create "$p" --name x \
    --listen nowhere:0
says 2 'there is no folder' "$dedloc" project create "$folder/none/p" --name x
says 2 'control character' "$dedloc" project create "$folder/two"$'\n'"lines" --name x
says 2 'not UTF-8' "$dedloc" project create "$folder/"$'\xE9' --name x
says 2 'a project.s has at most' "$dedloc" project create "$folder/$(printf 'x%.0s' {1..230})" \
    --name x
says 2 'name "  " is not one line' "$dedloc" project create "$p" --name '  '
says 2 'name "a.b" is not one line' "$dedloc" project create "$p" --name $'a\nb'
says 2 'is not one line of 1 to 255 bytes' "$dedloc" project create "$p" \
    --name "$(printf 'x%.0s' {1..256})"
says 2 'is not a DeDLOC project' "$dedloc" project start "$folder"
says 2 'is not a DeDLOC project' "$dedloc" run status --project "$folder" --name r
says 2 'No such file' "$dedloc" corpus build --text "$folder/none" --out "$folder/c"
says 2 'too small for a vocabulary' "$dedloc" corpus build --text "$0" --out "$folder/c" \
    --vocabulary 60000
says 2 "unknown option" "$demo" --bogus
says 2 "--steps wants a number" "$demo" --steps 0
says 2 "--volunteers wants a number" "$demo" --volunteers
says 1 "no readable text file" "$demo" --text "$folder/none"
mkdir "$folder/full" && touch "$folder/full/file"
says 1 "exists already" "$demo" --dir "$folder/full"
"$dedloc" run create --help | grep -q -- '--target-batch' || fail_test "no help"
[[ $(ls "$folder") == full ]] || fail_test "something was left: $(ls -A "$folder")"

echo "a project is made whole"
"$dedloc" project create "$p" --name "Test & <project>'\"\$(x);*ü%20" >/dev/null
says 2 'exists already' "$dedloc" project create "$p" --name x
url=$(sed -n 's|.*<master_url>\(.*\)</master_url>.*|\1|p' "$p/config.xml")
port=${url##*:} port=${port%/}
[[ $(stat -c %a "$p" "$p/keys/project.key" "$p/keys/ticket.key" "$p/config.xml") \
    == $'700\n600\n600\n600' ]] \
    || fail_test "secrets can be read by others"

echo "it runs, and a daemon that is killed comes back"
"$dedloc" project start "$p" >/dev/null
says 2 'running already' "$dedloc" project start "$p"
says 2 'already in use' "$dedloc" project create "$folder/q" --name x \
    --listen "127.0.0.1:$port"
says 1 'already in use' "$demo" --port "$port"
curl -fsS "${url}get_project_config.php" \
    | grep -qF "Test &amp; &lt;project&gt;&#39;&quot;\$(x);*ü%20" \
    || fail_test "the project's page does not know its name"
# A project without runs accepts no peers, but the check-up measures the link all the same.
"$programs/dedloc-peer" check "$url" >"$folder/check" 2>"$folder/check.err" && fail_test "no NO"
grep -Eq '^bandwidth ok  between here and the project [0-9.]+ Mbit/s up, [0-9.]+ Mbit/s down$' \
    "$folder/check" || fail_test "no bandwidth: $(<"$folder/check") $(<"$folder/check.err")"
# posted BYTES PATH: prints the status of the reply.
posted() {
    head -c "$1" /dev/zero | curl -s -o /dev/null -w '%{http_code}' --data-binary @- "$url$2"
}
[[ $(posted 8388608 dedloc/bandwidth) == 200 ]] || fail_test "8 MiB are not taken"
[[ $(posted 8388609 dedloc/bandwidth) == 413 ]] || fail_test "more than 8 MiB are taken"
[[ $(posted 20000 dedloc/enrol) == 413 ]] || fail_test "an enrolment may be long"
! grep 'buffered to a temporary file' "$p/log/nginx.log" || fail_test "nginx's disk measured"
for _ in {1..45}; do
    curl -s -o /dev/null -w '%{http_code}\n' "${url}dedloc/bandwidth?bytes=1"
done >"$folder/often"
grep -q 429 "$folder/often" || fail_test "an address may transfer without end"
[[ -s $p/pids/dedloc-evaluate.pid ]] || fail_test "nothing measures the runs"
[[ $(curl -fsS "$url") == *'<tbody id="runs">'* ]] || fail_test "the page has no table of runs"
first=$(<"$p/pids/nginx.pid")
kill -9 "$first"
came_back() { [[ -s $p/pids/nginx.pid && $(<"$p/pids/nginx.pid") != "$first" ]]; }
await 20 "nginx to come back" came_back
answers() { curl -fsS -o /dev/null "$url" 2>/dev/null; }
await 20 "the page to answer again" answers
# No log has what a client sends to sign in, also while the server is down.
secret='email_addr=secret@example.org&passwd_hash=0123456789abcdef0123456789abcdef'
curl -s -o /dev/null "${url}lookup_account.php?$secret" || fail_test "no account page"
kill -9 "$(<"$p/pids/dedloc-server.pid")"
curl -s -o /dev/null "${url}lookup_account.php?$secret" || true
await 20 "the server to come back" answers
grep -q 'GET /lookup_account.php HTTP' "$p/log/access.log" || fail_test "no access is logged"
! grep -r 'secret@\|0123456789abcdef' "$p/log" || fail_test "a log has a volunteer's secrets"
says 0 'stopped' "$dedloc" project stop "$p"
says 0 'not running' "$dedloc" project stop "$p"
none_left "stopping a project"
"$dedloc" project check "$p" >"$folder/check" 2>&1 || fail_test "$(<"$folder/check")"
says 0 'is up to date already' "$dedloc" project upgrade "$p"

echo "a daemon that cannot start says why"
mv "$p/keys/upload_public" "$folder/key"
mv "$p/db/data/ibdata1" "$folder"
mkdir "$p/db/data/ibdata1"
says 1 'mariadbd does not start: .*ibdata1. is not a regular file' "$dedloc" project start "$p"
rmdir "$p/db/data/ibdata1"
mv "$folder/ibdata1" "$p/db/data"
says 1 'dedloc-server does not start: .*upload_public' "$dedloc" project start "$p"
mv "$folder/key" "$p/keys/upload_public"
none_left "a project that could not start"

echo "killing the supervisor ends its daemons"
"$dedloc" project start "$p" >/dev/null
kill -9 "$(<"$p/pids/supervisor.pid")"
is_quiet() { [[ -z $(marked) ]]; }
await 20 "all daemons to end" is_quiet

echo "a port that somebody took is one sentence"
"$dedloc" project start "$p" >/dev/null
"$dedloc" project create "$folder/q" --name x >/dev/null
sed -i "s/\"127.0.0.1:[0-9]*\"/\"127.0.0.1:$port\"/" "$folder/q/dedloc.json"
says 1 'already in use' "$dedloc" project start "$folder/q"
"$dedloc" project stop "$p" >/dev/null
none_left "a project that could not start"

echo "a corpus is made whole, the same twice, and a run from it"
for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done \
    >"$folder/text"
"$dedloc" corpus build --text "$folder/text" --out "$folder/c1" --vocabulary 100 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/c2" --vocabulary 100 >/dev/null
diff -r "$folder/c1" "$folder/c2" || fail_test "two builds of one corpus differ"
make_run() { "$dedloc" run create --project "$p" --corpus "$folder/c1" --steps 5 "$@"; }
make_run --name r >/dev/null
says 2 'has a run r already' make_run --name r
says 2 'there is no model huge' make_run --name s --model huge
says 2 'dropout' make_run --name s --dropout 0 0 1
says 2 'evaluate-samples' make_run --name s --evaluate-samples 0
make_run --name d --model xlarge --dropout 0 0 0.1 >/dev/null
grep -q '"classifier_dropout":0.1' "$p/runs/d/run.json" || fail_test "no dropout in run.json"
says 2 'is not a corpus' \
    "$dedloc" run create --project "$p" --corpus "$folder" --steps 5 --name s
cp -r "$folder/c1" "$folder/c3"
damaged=("$dedloc" run create --project "$p" --corpus "$folder/c3" --steps 5 --name s)
"$dedloc" corpus build --text "$folder/text" --out "$folder/c4" --vocabulary 104 >/dev/null
cp "$folder/c4/tokenizer.model" "$folder/c3"
says 2 'has 104 pieces and is not the tokenizer of this corpus' "${damaged[@]}"
cp "$folder/c1/tokenizer.model" "$folder/c3"
shard=$(compgen -G "$folder/c3/shard-*" | head -n 1)
truncate --size=-1 "$shard"
says 2 'is cut off or altered' "${damaged[@]}"
says 2 'has no run s' "$dedloc" run status --project "$p" --name s
says 0 'paused' "$dedloc" run pause --project "$p" --name r
says 0 'running' "$dedloc" run resume --project "$p" --name r
says 2 'required' "$dedloc" user ban --project "$p"
says 2 'has no user 7' "$dedloc" user ban --project "$p" 7
says 2 'has no host attic' "$dedloc" host show --project "$p" attic
says 2 '64 hex digits' "$dedloc" key ban --project "$p" nobody
says 2 'one line' "$dedloc" key ban --project "$p" --reason $'two\nlines' nobody
key=$(printf '%064d' 7)
says 0 'banned: 0 backbones have acted' "$dedloc" key ban --project "$p" --reason spam "$key"
says 0 '"reason":"spam"' "$dedloc" key list --project "$p" --json
says 0 'not banned any more' "$dedloc" key unban --project "$p" "$key"
says 2 'nothing of this is banned' "$dedloc" key unban --project "$p" "$key"
says 2 'the run r began without sources, so none can be added: .* --source, and another run on it' \
    "$dedloc" run add-source --project "$p" --name r --corpus "$folder/c1" --source later
[[ $(ls "$p/runs" | xargs) == "d r" ]] || fail_test "a failed run left something"

echo "a run starts from a Hugging Face folder, and its model comes out with the same bits"
fixture=$(dirname "${BASH_SOURCE[0]}")/../boinc_app/fixtures/albert_flat
mkdir "$folder/hf"
cp "$fixture/config.json" "$fixture/model.safetensors" "$folder/hf"
from() { make_run --name imported --from "$folder/hf"; }
sed 's/"hidden_size": *[0-9]*/"hidden_size":64/' "$folder/hf/config.json" >"$folder/own.json"
make_run --name own --model "$folder/own.json" >/dev/null
grep -q '"hidden":64' "$p/runs/own/run.json" || fail_test "not the model of the file"
says 2 'none.json' make_run --name s --model "$folder/none.json"
says 2 'has no spiece.model' from
echo other >"$folder/hf/spiece.model"
says 2 'is not the tokenizer that made the corpus' from
cp "$folder/c1/tokenizer.model" "$folder/hf/spiece.model"
says 2 'was tokenised with SentencePiece alone' from
"$dedloc" corpus build --text "$folder/text" --out "$folder/c5" --tokenizer "$folder/hf" >/dev/null
import_run() { "$dedloc" run create --project "$p" --corpus "$folder/c5" --steps 5 "$@"; }
from() { import_run --name imported --from "$folder/hf"; }
sed -i 's/"gelu_new"/"relu"/' "$folder/hf/config.json"
says 2 "hidden_act = 'gelu_new', not 'relu'" from
cp "$fixture/config.json" "$folder/hf"
[[ $(ls "$p/runs" | xargs) == "d own r" ]] || fail_test "a failed import left something"
says 0 'run imported: [0-9]* parameters' from
export_run() { "$dedloc" run export --project "$p" --name "$@"; }
says 2 'has no ledger yet' export_run imported "$folder/out"
"$programs/dedloc-backbone" --project "$p" --run imported --no-database 2>/dev/null &
backbone=$!
has_ledger() { [[ -s $p/runs/imported/ledger ]]; }
await 30 "a ledger of the run" has_ledger
kill "$backbone"
wait "$backbone" || fail_test "the backbone failed"
says 2 'has no run none' export_run none "$folder/out"
says 2 'no checkpoint of step 3' export_run imported --step 3 "$folder/out"
[[ ! -e $folder/out ]] || fail_test "a failed export left something"
says 0 'exported step 0 of imported' export_run imported "$folder/out"
says 2 'exists already' export_run imported "$folder/out"
# The last bytes are the tensors, which both files have in their own order: import it again.
says 0 'run again' import_run --name again --from "$folder/out"
for run in imported again; do
    tail -c +105 "$p/runs/$run/checkpoints/step_000000000.state" >"$folder/$run.state"
done
cmp "$folder/imported.state" "$folder/again.state" || fail_test "an export has other parameters"
verify() { "$dedloc" run checkpoint verify --project "$p" --name imported "$@"; }
says 0 'the state of the run imported at step 0, proven' verify
says 1 'a checkpoint of the run' verify "$p/runs/again/checkpoints/step_000000000.state"
says 1 'not a checkpoint' verify "$folder/text"
list=$("$dedloc" run checkpoint list --project "$p" --name imported)
[[ $list =~ 1\ checkpoints.*step\ *0\ .*proven ]] || fail_test "a wrong list: $list"
says 2 'name a run' "$dedloc" run checkpoint list
mkdir "$folder/little"
full_export='mount -t tmpfs -o size=64k tmpfs "$1" && "$2" run export --project "$3" \
    --name imported "$1/out"; status=$?
    [[ -z $(ls -A "$1") ]] || { echo "left: $(ls -A "$1")"; exit 99; }; exit $status'
if unshare --mount --map-root-user true 2>/dev/null; then
    says 1 'No space left on device' unshare --mount --map-root-user \
        bash -c "$full_export" _ "$folder/little" "$dedloc" "$p"
fi

echo "voters are appointed and dismissed"
appoint() { "$dedloc" run appoint --project "$p" --name r "$@"; }
dismiss() { "$dedloc" run dismiss --project "$p" --name r "$@"; }
voters() { "$dedloc" run voters --project "$p" --name r; }
own=$(voters | sed -n 's/^\([0-9a-f]*\)  votes.*own backbone$/\1/p')
[[ ${#own} == 64 && $(voters | wc -l) == 2 ]] || fail_test "the backbone does not vote: $(voters)"
says 2 'give --file' appoint
says 2 'has no run s' "$dedloc" run appoint --project "$p" --name s --file "$folder/v"
says 2 '64 hex digits' appoint --key nobody
says 2 '--seed wants HOST:PORT' appoint --file "$folder/v" --seed nowhere
says 1 'cannot write' appoint --file "$folder/none/v"
says 2 'is the last voter' dismiss "$own"
[[ ! -e $folder/v && ! -e $p/runs/r/voters.json ]] || fail_test "a failure left something"
says 0 'appointed .* 2 voters: an even number' appoint --file "$folder/v1" --seed 127.0.0.1:7
says 2 'exists already' appoint --file "$folder/v1"
says 0 'appointed .* 3 voters' appoint --file "$folder/v2" --backbone 127.0.0.1:8
[[ $(stat -c %a "$folder/v1") == 600 ]] || fail_test "a voter's secret can be read by others"
[[ $(voters | grep -c 'once it holds the state, ticket until') == 2 ]] || fail_test "$(voters)"
second=$(voters | sed -n 's/^\([0-9a-f]*\)  appointed.*/\1/p' | head -1)
says 2 'is a voter already' appoint --key "$second"
says 2 'at least its first 4 digits' dismiss "${second:0:3}"
says 2 "no voter's key begins with xyzw" dismiss xyzw
says 0 'dismissed' dismiss "${second:0:12}"
says 2 "no voter's key" dismiss "${second:0:12}"
says 0 'appointed' appoint --key "$own"
grep -q '"min_generation": 1' "$p/runs/r/voters.json" || fail_test "not appointed again"
cp "$p/runs/r/voters.json" "$folder/voters.json"
head -c 30 "$folder/voters.json" >"$p/runs/r/voters.json"
says 2 'voters.json is not JSON' appoint --file "$folder/v3"
[[ ! -e $folder/v3 ]] || fail_test "a voter that was not appointed has a file"
cp "$folder/voters.json" "$p/runs/r/voters.json"

echo "the backbone's wrong arguments"
backbone=$programs/dedloc-backbone
says 2 '--project with --run, or --folder is required' "$backbone"
says 2 'requires --run' "$backbone" --project "$p"
says 2 'requires --folder' "$backbone" --voter "$folder/v1"
says 2 'excludes' "$backbone" --project "$p" --run r --folder "$folder/w"
says 2 'there is no folder' "$backbone" --folder "$folder/w"
says 2 'there is no file' "$backbone" --folder "$folder/w" --voter "$folder/none"
says 2 'neither empty nor a voter' "$backbone" --folder "$p" --voter "$folder/v1"
says 2 'is not JSON' "$backbone" --folder "$folder/w" --voter "$folder/text"
[[ -e $folder/v1 ]] || fail_test "a voter's file is gone before it was used"
none_left "commands that start the database for a moment"

echo "root publishes files that the project's owner may not read"
chmod 711 "$folder" # the owner's folder is in it
as_nobody=(setpriv --reuid nobody --clear-groups env HOME=/)
if [[ $EUID == 0 ]] && "${as_nobody[@]}" test -x "$dedloc" -a -x "$folder"; then
    mkdir -m 700 "$folder/closed"
    install -d -o nobody "$folder/of nobody"
    cp "$programs"/dedloc_{aggregate,launcher} "$folder/closed"
    theirs="$folder/of nobody/project"
    "$dedloc" project create "$theirs" --name theirs --user nobody >/dev/null
    publish=("$dedloc" app add --project "$theirs" --binary "$folder/closed/dedloc_aggregate")
    says 2 'this account may not read the program' "${as_nobody[@]}" "${publish[@]}"
    mkdir -m 700 "$folder/scratch"
    TMPDIR=$folder/scratch "${publish[@]}" >/dev/null 2>&1 || fail_test "app add as root"
    find "$theirs/download" -type f -exec cmp -s {} "$folder/closed/dedloc_aggregate" \; -print \
        | grep -q . || fail_test "the program is not published"
    [[ -z $(ls -A "$folder/scratch") && -z $(find "$theirs" -name '*.unfinished-*') ]] \
        || fail_test "copies are left"
    [[ -z $(find "$folder/of nobody" ! -user nobody) ]] \
        || fail_test "root's files: $(find "$folder/of nobody" ! -user nobody)"
else
    echo "  (not looked at: it takes root, and folders that the account nobody may enter)"
fi
none_left "commands as root"

echo "no disk space is one sentence"
full_disk='mount -t tmpfs -o size=40m tmpfs "$1" && "$2" project create "$1/p" --name x; status=$?
    [[ -z $(ls -A "$1") ]] || { echo "left: $(ls -A "$1")"; exit 99; }; exit $status'
mkdir "$folder/small"
if unshare --mount --map-root-user true 2>/dev/null; then
    says 1 'not enough disk space' \
        unshare --mount --map-root-user bash -c "$full_disk" _ "$folder/small" "$dedloc"
else
    echo "  (not looked at: this user may not mount a small disk)"
fi
none_left "the test"
