# Functions for scripts that start volunteers on this machine: stock BOINC clients, each with a
# folder, an account and a port of its own. To be sourced by a script that sets `volunteers_dir` and
# defines `fail`. It may set `volunteer_cores` (1), `volunteer_arguments`, which trainers get,
# `volunteer_libraries`, folders where they find more shared libraries, and `volunteer_preferences`,
# more computing preferences in BOINC's XML, one a line, which replace those here. A client may be on
# a host of its own: `volunteer_hosts` has the network namespace of a volunteer.

# failure_in LOG: why a program failed, by its log since the last line that begins with "== ": the
# first line that reports an error, because advice and consequences follow it; else the last line.
failure_in() {
    awk '/^== / { error = last = "" }
        NF && !/^== / { last = $0 }
        !error && /[Ee]rror: |\[ERROR\]|\[error\]|CMake Error|^E: / { error = $0 }
        END { print error ? error : last }' "$1"
}

declare -gA clients=()  # number of a volunteer → process id of its client
declare -gA volunteer_hosts=()  # number of a volunteer → its network namespace, if it has one

# kill_all SIGNAL PID...: sends a signal; ignores processes that have ended.
kill_all() {
    local pid
    for pid in "${@:2}"; do kill "-$1" "$pid" 2>/dev/null || true; done
}
# gone SECONDS PID...: waits until all have ended; fails if one is still alive after SECONDS.
gone() {
    local deadline=$((SECONDS + $1)) pid alive
    while :; do
        alive=
        for pid in "${@:2}"; do if kill -0 "$pid" 2>/dev/null; then alive=yes; fi; done
        [[ -n $alive ]] || return 0
        [[ $SECONDS -lt $deadline ]] || return 1
        sleep 0.1
    done
}
# gui_rpc FOLDER ARGUMENT...
gui_rpc() {
    local host=${volunteer_hosts[${1##*/}]:-}
    ${host:+ip netns exec "$host"} boinccmd --host "127.0.0.1:$(<"$1/port")" \
        --passwd "$(<"$1/gui_rpc_auth.cfg")" "${@:2}"
}

prepare_volunteer() {
    local home=$1
    mkdir -p "$home"
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$home/gui_rpc_auth.cfg"
    chmod 600 "$home/gui_rpc_auth.cfg"
    cat >"$home/cc_config.xml" <<XML
<cc_config><options>
<allow_multiple_clients>1</allow_multiple_clients>
<ncpus>${volunteer_cores:-1}</ncpus><no_gpus>1</no_gpus>
<skip_cpu_benchmarks>1</skip_cpu_benchmarks><start_delay>0</start_delay>
<fetch_minimal_work>$((${volunteer_cores:-1} == 1))</fetch_minimal_work>
<report_results_immediately>1</report_results_immediately>
<max_file_xfers>8</max_file_xfers><max_file_xfers_per_project>8</max_file_xfers_per_project>
<dont_contact_ref_site>1</dont_contact_ref_site><no_info_fetch>1</no_info_fetch>
</options></cc_config>
XML
    cat >"$home/global_prefs_override.xml" <<'XML'
<global_preferences>
<run_on_batteries>1</run_on_batteries><run_if_user_active>1</run_if_user_active>
<suspend_cpu_usage>0</suspend_cpu_usage><cpu_usage_limit>100</cpu_usage_limit>
<disk_max_used_gb>0</disk_max_used_gb><disk_max_used_pct>100</disk_max_used_pct>
<disk_min_free_gb>0.05</disk_min_free_gb><ram_max_used_busy_pct>100</ram_max_used_busy_pct>
<work_buf_min_days>0.01</work_buf_min_days><work_buf_additional_days>0</work_buf_additional_days>
</global_preferences>
XML
    local line name
    for line in ${volunteer_preferences:-}; do
        name="${line%%>*}>" # with its angle brackets
        sed -i "s|$name[^<]*</${name#<}||; s|</global_preferences>|$line\n&|" \
            "$home/global_prefs_override.xml"
    done
}

# start_client NUMBER: starts a client with a free GUI RPC port, and waits until it answers, on a
# busy machine for minutes. A client whose port gets taken ends, and the next one tries another.
start_client() {
    local home=$volunteers_dir/$1 host=${volunteer_hosts[$1]:-} tries found_at=()
    if [[ -n ${volunteer_libraries:-} ]]; then
        found_at=(env "LD_LIBRARY_PATH=$volunteer_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    fi
    for tries in 1 2 3 4 5; do
        echo $((20000 + RANDOM % 12000)) >"$home/port"
        if (exec 3<>"/dev/tcp/127.0.0.1/$(<"$home/port")") 2>/dev/null; then continue; fi
        ${host:+ip netns exec "$host"} "${found_at[@]}" setpriv --pdeathsig TERM -- boinc --dir "$home" \
            --gui_rpc_port "$(<"$home/port")" </dev/null >>"$home/client.log" 2>&1 &
        clients[$1]=$!
        disown "$!"  # so that bash prints nothing when it is killed
        local deadline=$((SECONDS + 300))
        while kill -0 "${clients[$1]}" 2>/dev/null && [[ $SECONDS -lt $deadline ]]; do
            if gui_rpc "$home" --get_host_info >/dev/null 2>&1; then return 0; fi
            sleep 0.2
        done
        kill_all TERM "${clients[$1]}"
        gone 10 "${clients[$1]}" || kill_all KILL "${clients[$1]}"
    done
    fail "the BOINC client of volunteer $1 does not start: $(failure_in "$home/client.log")"
}

# add_volunteer NUMBER URL: creates the account "volunteer-NUMBER" and attaches a client to it.
add_volunteer() {
    local home=$volunteers_dir/$1 url=$2 name="volunteer-$1" answer account
    prepare_volunteer "$home"
    start_client "$1"
    answer=$(gui_rpc "$home" --create_account "$url" "$name@example.org" "password-$1" "$name" 2>&1) \
        || fail "volunteer $1 got no account: $(tail -n 1 <<<"$answer")"
    account=$(sed -n 's/^account key: *//p' <<<"$answer")
    [[ -n $account ]] || fail "volunteer $1 got no account: $(tail -n 1 <<<"$answer")"
    answer=$(gui_rpc "$home" --project_attach "$url" "$account" 2>&1) \
        || fail "volunteer $1 could not attach: $(tail -n 1 <<<"$answer")"
    [[ -z ${volunteer_arguments:-} ]] || pass_arguments "$home"
}

# pass_arguments FOLDER: writes app_config.xml, as a volunteer would, once the project has a folder.
pass_arguments() {
    local deadline=$((SECONDS + 300)) folders project
    until folders=("$1"/projects/*) project=${folders[0]} && [[ -d $project ]]; do
        [[ $SECONDS -lt $deadline ]] || fail "the client in $1 made no folder for the project"
        sleep 0.1
    done
    cat >"$project/app_config.xml" <<XML
<app_config><app_version>
<app_name>dedloc_train</app_name><plan_class>mt_dedloc</plan_class><cmdline>$volunteer_arguments</cmdline>
</app_version></app_config>
XML
    gui_rpc "$1" --read_cc_config >/dev/null 2>&1 \
        || fail "the client in $1 does not read app_config.xml"
}

# prefer NUMBER NAME VALUE...: changes computing preferences, as the Manager does.
prefer() {
    local file=$volunteers_dir/$1/global_prefs_override.xml home=$volunteers_dir/$1
    shift
    while [[ $# -gt 0 ]]; do
        sed -i "s|<$1>[^<]*</$1>||; s|</global_preferences>|<$1>$2</$1>\n&|" "$file"
        shift 2
    done
    gui_rpc "$home" --read_global_prefs_override
}

# process_tree PID: the process and its descendants, such as a client and its app.
process_tree() {
    local child
    echo "$1"
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null || true); do process_tree "$child"; done
}

# end_clients: kills all clients with their apps.
end_clients() {
    local all
    all=$(for pid in "${clients[@]}"; do process_tree "$pid"; done)
    kill_all KILL $all
    gone 20 $all
}
