# Functions for tests written in bash; to be sourced. A failed check prints what was expected and
# ends the test. Processes that a test leaves running are found by a mark in their environment and
# killed, and fail the test.

export DEDLOC_CHECK_MARK=$$.$RANDOM$RANDOM
# A test that sets is_large before it sources this fills its folder with gigabytes: it is on the disk,
# where tests/run keeps those of other tests in memory.
[[ -z ${is_large:-} ]] || TMPDIR=${DEDLOC_DISK:-${TMPDIR:-/tmp}}
folder=$(mktemp -d "${TMPDIR:-/tmp}/dedloc-test.XXXXXX")

# Ids of the processes with the mark. This shell is not among them: it set the mark after its start.
marked() {
    local files=(/proc/[0-9]*/environ)
    { grep -lzxF "DEDLOC_CHECK_MARK=$DEDLOC_CHECK_MARK" "${files[@]}" || true; } 2>/dev/null \
        | cut -d / -f 3
}

# at_end COMMAND: end_test runs it, the last one first.
cleanups=()
at_end() { cleanups=("$1" "${cleanups[@]}"); }

end_test() {
    local status=$? pid command
    trap - EXIT
    for command in "${cleanups[@]}"; do eval "$command" || true; done
    for pid in $(marked); do
        [[ -d /proc/$pid ]] || continue
        echo "left running: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        kill -9 "$pid" 2>/dev/null || true
        status=1
    done
    rm -rf "$folder"
    exit "$status"
}
trap end_test EXIT
trap 'exit 130' INT TERM HUP

fail_test() { echo "FAILED: $*"; [[ ! -s ${output:-} ]] || tail -n 60 "$output"; exit 1; }

# says STATUS PATTERN COMMAND...: the command exits with this status and prints one matching line.
says() {
    local wanted=$1 pattern=$2 status=0 text
    shift 2
    text=$("$@" 2>&1 </dev/null) || status=$?
    [[ $status == "$wanted" ]] || fail_test "$*: status $status instead of $wanted: $text"
    [[ $(wc -l <<<"$text") == 1 ]] || fail_test "$*: more than one line: $text"
    [[ $text =~ $pattern ]] || fail_test "$*: '$text' does not match '$pattern'"
}

# none_left WHAT: within a second no process that the test started runs any more.
none_left() {
    local pid tries
    for tries in {1..20}; do
        pid=$(marked)
        [[ -n $pid ]] || return 0
        sleep 0.1
    done
    fail_test "$1 left processes running: $pid"
}

# await SECONDS WHAT COMMAND...: waits until the command succeeds, at most for ten times as long as
# that takes on a machine that does nothing else.
await() {
    local deadline=$((SECONDS + 10 * $1)) what=$2
    shift 2
    until "$@"; do
        [[ $SECONDS -lt $deadline ]] || fail_test "waited in vain for $what"
        sleep 0.1
    done
}

# config NAME: a setting in the config.xml of $project.
config() { sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" "$project/config.xml"; }
# sql [STATEMENT]: the rows, as the database of $project has them. Without one it reads statements.
sql() {
    MYSQL_PWD=$(config db_passwd) mariadb --no-defaults --skip-column-names \
        --socket "$project/db/mariadb.sock" --user "$(config db_user)" "$(config db_name)" \
        ${1:+--execute "$1"}
}

# use_volunteers PROGRAMS: for a test of a project that stock BOINC clients train for: names its
# programs and folders, and reads volunteers.sh.
use_volunteers() {
    programs=$(realpath "$1")
    dedloc=$programs/dedloc
    project=$folder/project
    volunteers_dir=$folder/volunteers
    fail() { fail_test "$@"; }
    source "$(dirname "${BASH_SOURCE[0]}")/../../project_server/volunteers.sh"
}
# add_trainer [OPTION...]: publishes the trainer without libtorch, for clients on this machine
# (trainer.cmake).
add_trainer() {
    "$dedloc" app add --project "$project" --package "$programs/light_trainer" --no-gzip "$@" \
        >/dev/null
}
# start_project: sets `url`; the project and its volunteers end with the test.
start_project() {
    url=$(config master_url)
    "$dedloc" project start "$project" >/dev/null
    at_end "'$dedloc' project stop '$project' >/dev/null"
    at_end end_clients
}

milliseconds() { date +%s%3N; }
# ticks PID: processor time of a process in hundredths of a second.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
