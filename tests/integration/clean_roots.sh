#!/usr/bin/env bash
# Volunteers on bare systems: in a minimal root of each Debian release, in which only boinc-client
# was installed, one stock client trains and another averages, all in one swarm with a project on
# this machine. Then a second version of the trainer is published, which differs in its own code
# only, and what clients download for it is listed.
set -Eeuo pipefail

usage() {
    cat <<'USAGE'
Usage: tests/integration/clean_roots.sh [--roots FOLDER] PROGRAMS [SUITE...]

Runs both apps of the folder PROGRAMS (build/release/bin) under the BOINC clients of bare systems,
and prints a line for each: glibc, BOINC client, work, download and disk space.

  SUITE           Debian's name of a release; bullseye (glibc 2.31, as Ubuntu 20.04), bookworm and
                  trixie without one
  --roots FOLDER  where the roots are made, once each: 0.4 GB each (build/roots)
  --help          this text

Needs root, debootstrap, a Debian mirror and 5 GB. Runs for about five minutes.
USAGE
}

here=$(dirname "${BASH_SOURCE[0]}")
is_large=yes
source "$here/checks.sh"
source "$here/roots.sh"
source "$here/../../project_server/bible_text.sh"
begin_in_roots "$@"

for suite in "${suites[@]}"; do make_root "$suite" "$suite" boinc-client; done

# The client runs as Debian runs it, by the account boinc, in process and mount namespaces of its
# own. The network is this machine's.
declare -A client_of=() port_of=()
inside='
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
exec chroot --userspec=boinc:boinc "$1" env -i PATH=/usr/bin:/bin boinc --dir "$2" \
    --gui_rpc_port "$3"'
# start_in SUITE NAME: starts the client of a volunteer in the root of the suite.
start_in() {
    local root=$roots/$1 home=$roots/$1/srv/$2
    echo $((20000 + RANDOM % 12000)) >"$home/port"
    chown -R --reference="$root/var/lib/boinc-client" "$home"
    unshare --mount --pid --fork --kill-child bash -c "$inside" _ "$root" "/srv/$2" \
        "$(<"$home/port")" </dev/null >"$home/client.log" 2>&1 &
    client_of[$1/$2]=$!
    disown "$!"
    await 20 "the client of $1" gui_rpc "$home" --get_host_info >/dev/null 2>&1
}
stop_clients() {
    local suite key all=()
    # A client has changed its user since unshare asked for its end with its own.
    for key in "${!client_of[@]}"; do all+=($(process_tree "${client_of[$key]}")); done
    kill_all TERM "${all[@]}"
    gone 20 "${all[@]}" || kill_all KILL "${all[@]}"
    for suite in "${suites[@]}"; do rm -rf "$roots/$suite"/srv/{trainer,aggregator}; done
}
at_end stop_clients

bible_text >"$folder/text"
"$dedloc" project create "$project" --name "Clean roots" --contact-seconds 5 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" >/dev/null 2>&1
"$dedloc" app add --project "$project" --binary "$programs/dedloc_train" 2>/dev/null
"$dedloc" app add --project "$project" --binary "$programs/dedloc_aggregate" 2>/dev/null
# begin_run NAME STEPS: a run of the smallest model.
begin_run() {
    "$dedloc" run create --project "$project" --name "$1" --corpus "$folder/corpus" --model tiny \
        --steps "$2" --aggregators "${#suites[@]}" --evaluate-every 0 >/dev/null
}
steps=30
begin_run first "$steps"
start_project

# attach SUITE NAME PREFERENCE...: an account, and a client of it.
attach() {
    local home=$roots/$1/srv/$2 account
    rm -rf "$home"
    volunteer_preferences=$3
    prepare_volunteer "$home"
    # It would fetch one task and never another.
    sed -i 's|<fetch_minimal_work>1|<fetch_minimal_work>0|' "$home/cc_config.xml"
    start_in "$1" "$2"
    account=$(gui_rpc "$home" --create_account "$url" "$2-$1@example.org" secret "$2-$1" \
        | sed -n 's/^account key: *//p')
    [[ -n $account ]] || fail_test "no account for the $2 on $1"
    gui_rpc "$home" --project_attach "$url" "$account" >"$output" 2>&1 || fail_test "attach on $1"
}
memory=$(awk '$1 == "MemTotal:" { print $2 / 1000 }' /proc/meminfo) # megabytes
percent=$(awk -v memory="$memory" 'BEGIN { print 100 * 250 / memory }')
for suite in "${suites[@]}"; do
    attach "$suite" trainer '<max_bytes_sec_up>2000000</max_bytes_sec_up>'
    # With too little memory to train it averages.
    attach "$suite" aggregator "<ram_max_used_busy_pct>$percent</ram_max_used_busy_pct>
        <ram_max_used_idle_pct>$percent</ram_max_used_idle_pct>"
done

# has_line SUITE NAME PATTERN: the log of the volunteer's app.
has_line() { grep -qE "$3" "$roots/$1/srv/$2"/slots/*/stderr.txt 2>/dev/null; }
for suite in "${suites[@]}"; do
    output=$roots/$suite/srv/trainer/client.log
    await 240 "the trainer on $suite" has_line "$suite" trainer 'members, [1-9][0-9]* ours'
    output=$roots/$suite/srv/aggregator/client.log
    await 120 "the aggregator on $suite" has_line "$suite" aggregator 'averaged here'
done
# disk SUITE NAME: bytes that the client's folder takes with a job in progress; links count as such.
disk() { du -s --apparent-size --block-size=1 "$roots/$1/srv/$2" | cut -f 1; }
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
declare -A disk_of=()
for suite in "${suites[@]}"; do
    for name in trainer aggregator; do disk_of[$suite/$name]=$(disk "$suite" "$name"); done
done
output=$folder/log
"$dedloc" run wait --project "$project" --name first --timeout 3000 >"$output" 2>&1 \
    || fail_test "the run does not end"
"$dedloc" run report --project "$project" --name first >"$output" 2>&1 || fail_test "no agreement"
grep -E "equal at all members at $steps of $steps steps" "$output" || fail_test "digests differ"

"$dedloc" app list --project "$project" --json >"$folder/versions"
# fact APP FIELD: of the app's first version.
fact() { jq ".versions[] | select(.app == \"dedloc_$1\" and .version == \"1.0\") | .$2" \
    "$folder/versions"; }
for suite in "${suites[@]}"; do
    root=$roots/$suite
    glibc=$(chroot "$root" ldd --version | sed -n '1s/.* //p')
    client=$(chroot "$root" dpkg-query -W -f '${Version}' boinc-client)
    echo "$suite: glibc $glibc, boinc-client $client: trained and averaged;" \
        "disk $(megabytes "${disk_of[$suite/trainer]}") for the trainer," \
        "$(megabytes "${disk_of[$suite/aggregator]}") for the aggregator"
    # The client clears a slot with the launcher's links when the job is over.
    left=$(find "$root"/srv/{trainer,aggregator}/slots -type l 2>/dev/null || true)
    [[ -z $left ]] || fail_test "left in slots: $left"
done
for app in train aggregate; do
    echo "dedloc_$app: $(fact "$app" files) files, $(megabytes "$(fact "$app" size_bytes)")," \
        "downloaded as $(megabytes "$(fact "$app" download_bytes)")"
done

echo "an update"
files_of() { (cd "$roots/$1/srv/trainer/projects"/* && ls); }
for suite in "${suites[@]}"; do files_of "$suite" >"$folder/before-$suite"; done
mkdir "$folder/new"
cp -L "$programs"/{dedloc_train,dedloc_launcher} "$folder/new/"
echo "other code" >>"$folder/new/dedloc_train" # behind all that a loader reads
"$dedloc" app add --project "$project" --binary "$folder/new/dedloc_train" --version 1.1 \
    >/dev/null 2>&1
begin_run second 1000
# A client that got no tasks waits for minutes before it asks again, unless its user says so.
trains_again() {
    gui_rpc "$roots/$1/srv/trainer" --project "$url" update >/dev/null 2>&1 || true
    sleep 2
    has_line "$1" trainer 'members, [1-9][0-9]* ours'
}
for suite in "${suites[@]}"; do
    output=$roots/$suite/srv/trainer/client.log
    await 240 "the new version on $suite" trains_again "$suite"
    update=0 names=()
    for name in $(files_of "$suite" | grep '^dedloc_\|\.so\|licences' \
            | grep -vxFf "$folder/before-$suite"); do
        bytes=$(stat -c %s "$project/download/$name.gz" 2>/dev/null \
            || stat -c %s "$project/download/$name")
        update=$((update + bytes)) names+=("$name")
    done
    echo "$suite downloads $(megabytes "$update") for version 1.1: ${names[*]}"
    [[ ${#names[@]} == 1 && ${names[0]} == dedloc_train.* && $update -lt 20000000 ]] \
        || fail_test "an update downloads ${names[*]}"
done
