#!/bin/sh
# Joins a DeDLOC@home project as a volunteer for as long as this runs: starts a stock BOINC client
# in a folder of its own, attaches it, shows progress, and at the end leaves the project, ends the
# client and deletes the folder. Nothing is installed; an installed client is used, else the
# distribution's package is unpacked into that folder. --help says more.
set -u

master='%MASTER_URL%'

usage() {
    cat <<USAGE
Usage: sh join.sh [OPTION...]       or: curl -fsS ${master}join.sh | sh -s -- [OPTION...]

Trains with the project at $master on this computer, until Ctrl-C. Other volunteers' computers
see this one's IP address meanwhile. Nothing is installed and nothing stays here afterwards.

  --key KEY          account key, if you have an account (or DEDLOC_KEY)
  --email ADDRESS    e-mail address of your account, or of a new one (or DEDLOC_EMAIL)
  --name NAME        name of a new account, shown to all (or DEDLOC_NAME)
  --invitation CODE  for a new account, if the project wants a code (or DEDLOC_INVITATION)
  --cores N          use at most N processor cores; default: all
  --no-gpu           leave an NVIDIA GPU alone; default: use it
  --minutes N        leave after N minutes
  --yes              do not wait for confirmation
  --json             print JSON, a line for each change
  --help             this text

DEDLOC_PASSWORD is the password, at least 6 characters; without it a terminal is asked for it. What
is missing is asked for once, in a terminal. Needs Linux on x86-64; curl, wget or python3; and a
BOINC client or apt-get. Root is not needed.
USAGE
}

folder='' client='' sleeper='' is_attached='' is_stopped='' is_new='' prints_json='' status=0

say() { printf '%s\n' "$*" || exit 1; }
# note TEXT: a line of progress.
note() {
    if [ -n "$prints_json" ]; then
        say "{\"state\": \"$1\", \"text\": \"$(escaped "$2")\"}"
    else
        say "$(date +%H:%M:%S)  $2"
    fi
}
fail() {
    printf 'join: %s\n' "$*" >&2
    exit 1
}
# escaped TEXT: for a string of JSON; control characters are left out.
escaped() { printf %s "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'; }
has() { command -v "$1" >/dev/null 2>&1; }
has_client() { has boinc && has boinccmd; }
# pause SECONDS: a signal ends it.
pause() {
    sleep "$1" &
    sleeper=$!
    wait "$sleeper" 2>/dev/null || true
    sleeper=''
}

# encoded TEXT: each byte as %XX, for a form.
encoded() { printf %s "$1" | od -An -v -tx1 | tr -d '\n' | tr ' ' %; }
# fetch PATH [FORM]: prints what the project answers; with a FORM it posts that.
fetch() {
    printf %s "${2-}" >"$folder/form"
    set -- "$master$1" ${2+"$folder/form"}
    if has curl; then
        curl -fsS --max-time 60 ${2+--data "@$2"} "$1" 2>"$folder/failure"
    elif has wget; then
        wget -q -T 60 -t 1 -O - ${2+--post-file "$2"} "$1" 2>"$folder/failure"
    elif has python3; then
        python3 -c 'import sys, urllib.request as r
form = open(sys.argv[2], "rb").read() if len(sys.argv) > 2 else None
sys.stdout.buffer.write(r.urlopen(sys.argv[1], form, 60).read())' "$@" 2>"$folder/failure"
    else
        fail 'curl, wget or python3 is needed to reach the project'
    fi
}
# element NAME: its text in the XML on standard input; entities of markup are undone.
element() {
    sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" | head -n 1 \
        | sed "s/&lt;/</g; s/&gt;/>/g; s/&quot;/\"/g; s/&#39;/'/g; s/&amp;/\&/g"
}

# ask VARIABLE TEXT [secret]: reads a missing value from the terminal, once.
ask() {
    eval "[ -z \"\$$1\" ]" || return 0
    [ -n "$terminal" ] || fail "$2 is missing; see --help"
    printf '%s: ' "$2" >/dev/tty
    [ -z "${3-}" ] || stty -echo </dev/tty
    IFS= read -r answer </dev/tty || answer=''
    [ -z "${3-}" ] || { stty echo </dev/tty; echo >/dev/tty; }
    [ -n "$answer" ] || fail "$2 is missing; see --help"
    eval "$1=\$answer"
}

read_options() {
    key=${DEDLOC_KEY-} email=${DEDLOC_EMAIL-} name=${DEDLOC_NAME-}
    invitation=${DEDLOC_INVITATION-} password=${DEDLOC_PASSWORD-}
    cores='' gpu=yes minutes='' confirmed=''
    unset DEDLOC_PASSWORD DEDLOC_KEY
    while [ $# -gt 0 ]; do
        case $1 in
            --key | --email | --name | --invitation | --cores | --minutes)
                [ $# -ge 2 ] || fail "$1 needs a value; see --help" ;;
        esac
        case $1 in
            --key) key=$2; shift ;;
            --email) email=$2; shift ;;
            --name) name=$2; shift ;;
            --invitation) invitation=$2; shift ;;
            --cores) cores=$2; shift ;;
            --minutes) minutes=$2; shift ;;
            --no-gpu) gpu='' ;;
            --yes) confirmed=yes ;;
            --json) prints_json=yes ;;
            --help | -h) usage; exit 0 ;;
            *) fail "there is no option $1; see --help" ;;
        esac
        shift
    done
    case $cores$minutes in *[!0-9]*) fail '--cores and --minutes are whole numbers' ;; esac
    for number in "${cores:-1}" "${minutes:-1}"; do
        [ "$number" -gt 0 ] || fail '--cores and --minutes are above 0'
    done
    case $key in *[!0-9A-Za-z_]*) fail 'the account key has digits and letters only' ;; esac
    terminal=''
    if [ -z "$prints_json" ] && (exec </dev/tty) 2>/dev/null && [ -t 1 ]; then terminal=yes; fi
}

check_system() {
    [ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] || fail 'the app runs on Linux on x86-64 only'
    has_client || has apt-get \
        || fail 'there is no BOINC client here and no apt-get to fetch one; install BOINC first'
    folder=$(mktemp -d "${TMPDIR:-/tmp}/dedloc-join.XXXXXX") || fail 'there is no temporary folder'
}

# The project's answer is read first, so that nothing is asked or fetched for one that is away.
check_project() {
    project=$(fetch get_project_config.php) \
        || fail "$master does not answer: $(tail -n 1 "$folder/failure")"
    title=$(printf '%s\n' "$project" | element name)
    [ -n "$title" ] || fail "$master does not answer as a project"
    [ "$(printf '%s\n' "$project" | element web_stopped)" = 0 ] \
        || fail "$title is temporarily unavailable; try again later"
}

# account_answer PATH FORM: an account's key; fails with the project's sentence.
account_answer() {
    answer=$(fetch "$1" "$2") || fail "the project does not answer: $(tail -n 1 "$folder/failure")"
    key=$(printf '%s\n' "$answer" | element authenticator)
}

find_account() {
    if [ -n "$key" ]; then
        case $key in *_*) return 0 ;; esac # a weak key: the scheduler knows it, this page does not
        answer=$(fetch am_get_info.php "account_key=$key") \
            || fail "the project does not answer: $(tail -n 1 "$folder/failure")"
        case $answer in *'<error'*) fail "no account of $title has this key" ;; esac
        return 0
    fi
    [ -n "$terminal$email" ] || fail 'give --key, or --email and DEDLOC_PASSWORD; see --help'
    ask email 'The e-mail address'
    ask password 'The password (of your account, or of a new one)' secret
    [ ${#password} -ge 6 ] || fail 'a password has at least 6 characters'
    lower=$(printf %s "$email" | tr '[:upper:]' '[:lower:]')
    hash=$(printf %s "$password$lower" | md5sum | cut -d ' ' -f 1)
    account_answer lookup_account.php "email_addr=$(encoded "$lower")&passwd_hash=$hash"
    [ -z "$key" ] || return 0
    [ "$(printf '%s\n' "$answer" | element error_num)" = -136 ] \
        || fail "$(printf '%s\n' "$answer" | element error_msg)"
    ask name 'The name of the new account (shown to all)'
    case $project in *'<invite_code_required/>'*) ask invitation 'The invitation code' ;; esac
    is_new=yes
}

create_account() {
    account_answer create_account.php "email_addr=$(encoded "$lower")&passwd_hash=$hash\
&user_name=$(encoded "$name")&invite_code=$(encoded "$invitation")"
    [ -n "$key" ] || fail "$(printf '%s\n' "$answer" | element error_msg)"
}

# gpu_library: the driver's library, if there is an NVIDIA GPU.
gpu_library() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 1
    for place in /usr/lib64-nvidia /usr/lib/wsl/lib /usr/lib/x86_64-linux-gnu /usr/lib64; do
        for library in "$place/libcuda.so" "$place/libcuda.so.1"; do
            [ ! -e "$library" ] || { echo "$library"; return 0; }
        done
    done
    return 1
}

explain() {
    [ -z "$gpu" ] || cuda=$(gpu_library) || cuda=''
    [ -n "$gpu" ] || cuda=''
    said=$folder/plan
    {
        echo "This computer joins $title ($master):"
        if has_client; then
            echo "  - the installed BOINC client runs, in $folder"
        else
            echo "  - the BOINC client of your system's packages is fetched and unpacked into"
            echo "    $folder; nothing is installed"
        fi
        if [ -n "$is_new" ]; then echo "  - an account \"$name\" is created for $email"; fi
        echo "  - it trains on ${cores:-all} processor cores${cuda:+ and on the NVIDIA GPU}"
        if [ -n "$minutes" ]; then echo "  - it leaves after $minutes minutes"; fi
        echo "  - other volunteers' computers see its IP address while it trains"
        echo "  - at the end (Ctrl-C) it leaves the project and deletes that folder"
    } >"$said"
    if [ -n "$prints_json" ]; then
        while IFS= read -r line; do note plan "$line"; done <"$said"
    else
        cat "$said"
    fi
    [ -n "$terminal" ] && [ -z "$confirmed" ] || return 0
    printf 'Enter begins, Ctrl-C ends: ' >/dev/tty
    read -r answer </dev/tty || fail 'there is nothing to read the answer from'
}

# private TOOL...: apt with a state in the folder; it needs no right to write elsewhere.
private() {
    tool=$1
    shift
    TMPDIR=$folder "$tool" -q -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o APT::Install-Recommends=0 -o APT::Update::Error-Mode=any -o Acquire::Retries=3 \
        -o Dir::Cache="$folder/apt" -o Dir::Cache::archives="$folder/apt/archives" \
        ${lists:+-o Dir::State::lists="$lists"} "$@"
}
# apt_failure: the first thing that apt complains of.
apt_failure() {
    { grep -E '^[EW]: ' "$folder/failure" || tail -n 1 "$folder/failure"; } \
        | head -n 1 | cut -c 4-300
}
# needed_packages: the client and what it needs of what this system has not.
needed_packages() {
    private apt-get -y --print-uris install boinc-client 2>"$folder/failure" \
        | sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" | grep -Ev '^(lib)?python3|^media-types$' \
        || true
}
fetch_packages() {
    packages=$(needed_packages)
    # shellcheck disable=SC2086 # one word for each package
    [ -n "$packages" ] && (cd "$folder/debs" && private apt-get download $packages) \
        >/dev/null 2>"$folder/failure"
}
# unpack_client: the client's files in $folder/system.
unpack_client() {
    note client 'fetching the BOINC client'
    mkdir -p "$folder/apt/archives/partial" "$folder/debs" "$folder/system"
    lists=''
    if ! fetch_packages; then
        # The system's lists are absent or old.
        lists=$folder/lists
        mkdir -p "$lists/partial"
        if ! private apt-get update >/dev/null 2>"$folder/failure" || ! fetch_packages; then
            fail "the package boinc-client cannot be fetched: $(apt_failure)"
        fi
    fi
    for package in "$folder"/debs/*.deb; do
        dpkg-deb -x "$package" "$folder/system" || fail "$package cannot be unpacked"
    done
    rm -rf "$folder/apt" "$folder/debs" "$folder/lists"
    PATH=$folder/system/usr/bin:$PATH
    libraries=$folder/system/usr/lib/x86_64-linux-gnu:$folder/system/lib/x86_64-linux-gnu
    LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PATH LD_LIBRARY_PATH
}

write_settings() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$data/gui_rpc_auth.cfg"
    cat >"$data/cc_config.xml" <<XML
<cc_config><options>
<allow_multiple_clients>1</allow_multiple_clients>
<ncpus>${cores:--1}</ncpus><no_gpus>$([ -n "$cuda" ] && echo 0 || echo 1)</no_gpus>
<skip_cpu_benchmarks>1</skip_cpu_benchmarks><start_delay>0</start_delay>
<report_results_immediately>1</report_results_immediately>
<dont_contact_ref_site>1</dont_contact_ref_site><no_info_fetch>1</no_info_fetch>
</options></cc_config>
XML
    cat >"$data/global_prefs_override.xml" <<XML
<global_preferences>
<run_on_batteries>1</run_on_batteries><run_if_user_active>1</run_if_user_active>
<run_gpu_if_user_active>1</run_gpu_if_user_active>
<suspend_cpu_usage>0</suspend_cpu_usage><cpu_usage_limit>100</cpu_usage_limit>
<disk_max_used_gb>0</disk_max_used_gb><disk_max_used_pct>100</disk_max_used_pct>
<disk_min_free_gb>0.05</disk_min_free_gb><ram_max_used_busy_pct>90</ram_max_used_busy_pct>
<ram_max_used_idle_pct>90</ram_max_used_idle_pct>
<work_buf_min_days>0.01</work_buf_min_days><work_buf_additional_days>0</work_buf_additional_days>
</global_preferences>
XML
    # The client attaches to what it finds; so the key is in no command line.
    account=$(printf %s "$master" | sed 's|^[a-z]*://||; s|/*$||; s/[^A-Za-z0-9.-]/_/g')
    cat >"$data/account_$account.xml" <<XML
<account>
    <master_url>$master</master_url>
    <authenticator>$key</authenticator>
</account>
XML
    # An https project needs the authorities' certificates where the system has none.
    if [ ! -e /etc/ssl/certs/ca-certificates.crt ] && [ -d "$folder/system" ]; then
        cat "$folder"/system/usr/share/ca-certificates/mozilla/*.crt >"$data/ca-bundle.crt" \
            2>/dev/null || rm -f "$data/ca-bundle.crt"
    fi
    # The client looks for libcuda.so; images of containers often have libcuda.so.1 only.
    if [ -n "$cuda" ]; then
        mkdir -p "$folder/cuda"
        ln -sf "$cuda" "$folder/cuda/libcuda.so"
        LD_LIBRARY_PATH=$folder/cuda:$(dirname "$cuda")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export LD_LIBRARY_PATH
    fi
}

# command WORD...: a command to the client. It reads the password from its folder.
command_client() { (cd "$data" && boinccmd --host "127.0.0.1:$port" "$@") 2>&1; }
is_up() { command_client --get_host_info >/dev/null; }
runs() { kill -0 "$client" 2>/dev/null; }

start_client() {
    data=$folder/client
    mkdir -p "$data"
    chmod 700 "$data"
    write_settings
    # A session of its own keeps the terminal's Ctrl-C from it: this script ends it in order.
    # It ends if this script is killed.
    guard='setsid'
    if has setpriv && setpriv --pdeathsig TERM -- true 2>/dev/null; then
        guard='setsid setpriv --pdeathsig TERM --'
    fi
    for tries in 1 2 3; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        # A signal waits until the client's number is known: else the client would stay.
        trap 'is_stopped=yes' INT TERM HUP
        $guard boinc --dir "$data" --gui_rpc_port "$port" </dev/null >"$folder/log" 2>&1 &
        client=$!
        trap 'exit 0' INT TERM HUP && [ -z "$is_stopped" ] || exit 0
        waited=0
        while runs && [ "$waited" -lt 60 ]; do
            is_up && is_attached=yes && return 0
            pause 0.5
            waited=$((waited + 1))
        done
        end_client
    done
    fail "the BOINC client does not start ($tries tries): $(tail -n 1 "$folder/log")"
}

# What the task's log says of steps with samples of ours. One file for each run has the last one.
counted=0 step=0 loss=0 members=0 run=''
read_logs() {
    for slot in "$data"/slots/*; do
        [ -s "$slot/stderr.txt" ] || continue
        run=$(sed -n 's|.*<wu_name>\(.*\)_[0-9]*</wu_name>.*|\1|p' "$slot/init_data.xml" \
            2>/dev/null | tr -cd 'A-Za-z0-9_-')
        last=$(cat "$folder/last.$run" 2>/dev/null || echo 0)
        # shellcheck disable=SC2046 # four numbers
        set -- $(awk -v last="$last" '/ committed: loss / {
                sub(/.* step /, "")
                if ($1 + 0 > last) { step = $1; loss = $4 + 0; members = $8; ours += $10 }
            }
            END { if (step) print step, loss, members, ours + 0 }' "$slot/stderr.txt")
        [ $# -eq 4 ] || continue
        step=$1 loss=$2 members=$3 counted=$((counted + $4))
        echo "$step" >"$folder/last.$run"
    done
}
# last_message: what the client or the project has said last.
last_message() {
    command_client --get_messages 0 | sed -n 's/^[0-9]*: [^()]* ([a-z ]*) \[[^]]*\] *//p' \
        | grep -Ev '^(Sending|Requesting|Scheduler request|Not requesting|Fetching|Starting task)' \
        | tail -n 1
}
# tell_time: sets `now`, in seconds. A signal to the terminal's processes ends `date`, too.
tell_time() { until now=$(date +%s) && [ -n "$now" ]; do :; done; }
# show: one line if something has changed; in text at most every ten seconds.
shown='' shown_at=0
show() {
    tell_time
    [ -n "$prints_json" ] || [ "$now" -ge $((shown_at + 10)) ] || return 0
    read_logs
    if [ "$step" -gt 0 ]; then
        text="$run: step $step, loss $loss, $members members; $counted samples of yours counted"
    elif command_client --get_tasks | grep -q 'active_task_state: EXECUTING'; then
        text='the app runs and looks for the other volunteers'
    elif command_client --get_file_transfers | grep -q 'name:'; then
        text="downloading: $(du -sm "$data/projects" 2>/dev/null | cut -f 1) MB so far"
    else
        text="no job yet: $(last_message)"
    fi
    case $text in
        *'account key'*) fail "the project does not know this account key" ;;
    esac
    [ "$text" != "$shown" ] || return 0
    shown=$text shown_at=$now
    if [ -z "$prints_json" ] || [ "$step" -eq 0 ]; then
        note "$([ "$step" -gt 0 ] && echo training || echo waiting)" "$text"
    else
        say "{\"state\": \"training\", \"run\": \"$run\", \"step\": $step, \"loss\": $loss," \
            "\"members\": $members, \"counted\": $counted, \"text\": \"$(escaped "$text")\"}"
    fi
}

watch() {
    tell_time && deadline=$((${minutes:-0} * 60 + now))
    while runs; do
        show
        [ -z "$minutes" ] || [ "$now" -lt "$deadline" ] || return 0
        pause 2
    done
    fail "the BOINC client has ended: $(tail -n 1 "$folder/log")"
}

# wait_until SECONDS COMMAND...: true once the command is; false without a client, too.
wait_until() {
    tell_time && until_when=$(($1 + now))
    shift
    while :; do
        ! "$@" || return 0
        runs && tell_time && [ "$now" -lt "$until_when" ] || return 1
        sleep 0.2
    done
}
# tasks_without PATTERN: true if the client answers, and no line of its tasks matches.
tasks_without() { tasks=$(command_client --get_tasks) && ! printf %s "$tasks" | grep -q "$1"; }
has_no_running_task() { tasks_without 'active_task_state: EXECUTING'; }
has_no_task() { tasks_without '^ *name: '; }
has_ended() { ! runs; }
# rpc_is_over: no answer of the scheduler is on its way; it may bring a job.
rpc_is_over() {
    messages=$(command_client --get_messages 0) && printf %s "$messages" | awk '
        / Sending scheduler request/ { open++ }
        / Scheduler request (completed|failed|to )/ { open-- }
        END { exit open > 0 }'
}
failed_requests() { command_client --get_messages 0 | grep -Ec ' Scheduler request (failed|to )'; }
has_reported() { has_no_task || [ "$(failed_requests)" -gt "$failed" ]; }
# leave_project: gives the jobs back, so that the project need not wait for their deadlines.
# The limits are for a busy computer.
leave_project() {
    command_client --project "$master" nomorework >/dev/null || return 0
    wait_until 60 rpc_is_over || true
    for task in $(command_client --get_tasks | sed -n 's/^ *name: //p'); do
        command_client --task "$master" "$task" abort >/dev/null || true
    done
    wait_until 30 has_no_running_task || true
    if ! has_no_task; then
        failed=$(failed_requests)
        command_client --project "$master" update >/dev/null || true
        wait_until 60 has_reported || true
    fi
    command_client --project "$master" detach >/dev/null || true
}
# end_client: ends it and everything that it has started.
end_client() {
    [ -n "$client" ] || return 0
    if runs; then
        command_client --quit >/dev/null || true
        wait_until 10 has_ended || kill -TERM "-$client" 2>/dev/null || true
        wait_until 3 has_ended || true
    fi
    kill -KILL "-$client" 2>/dev/null || true
    wait "$client" 2>/dev/null || true
    client=''
}
# leave STATUS: a second signal cuts it short.
leave() {
    trap '' HUP
    trap 'is_attached=; kill -KILL "-$client" 2>/dev/null' INT TERM
    [ -z "$sleeper" ] || kill "$sleeper" 2>/dev/null
    [ -z "${terminal-}" ] || stty echo </dev/tty 2>/dev/null
    if [ -n "$client" ]; then
        note leaving 'leaving the project; a second Ctrl-C or stop cuts that short' 2>/dev/null
        ! wait_until 30 is_up || leave_project # one that just began may have asked for a job
        end_client
    fi
    [ -z "$folder" ] || rm -rf "$folder"
    [ "$1" -ne 0 ] || [ -z "$is_attached" ] \
        || note left "left; $counted samples of yours were counted" 2>/dev/null
}

main() {
    umask 077
    trap '' PIPE
    trap 'status=$?; trap - EXIT; leave "$status"; exit "$status"' EXIT
    trap 'exit 0' INT TERM HUP
    read_options "$@"
    check_system
    check_project
    find_account
    explain
    [ -z "$is_new" ] || create_account
    has_client || unpack_client
    start_client
    note attached "attached to $title"
    watch
}

main "$@"
