#!/bin/sh
# For join_roots.sh, inside the bare system: joins until a sample is counted, interrupts that, and
# looks for what is left. Files of /case: begin, said (what was shown), counted and left (seconds),
# status.
set -u
# shellcheck source=/dev/null
. /case/settings
end() {
    [ "$1" = 0 ] || printf '%s\n' "$2" >>/case/said
    echo "$1" >/case/status
    exit "$1"
}
[ "$(cat /proc/1/comm)" != systemd ] \
    || echo "systemd $(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')" >/case/systemd
touch /case/begin # files that are newer are traces
begin=$(date +%s)
if [ "$way" = notebook ]; then
    DEDLOC_KEY=$key python3 /case/run_notebook.py /case/join.ipynb /case/executed.ipynb 1 \
        >/case/said 2>&1 || end 1 'the notebook fails'
    cat /case/executed.ipynb.html >>/case/said
    for wanted in 'samples of yours counted' 'left; [1-9]' '<polyline' 'training loss'; do
        grep -q "$wanted" /case/executed.ipynb.html || end 1 "the notebook lacks $wanted"
    done
    sed -n 's/^counted after \([0-9]*\) s$/\1/p' /case/said >/case/counted
    sed -n 's/^left in \([0-9]*\) s$/\1/p' /case/said >/case/left
else
    # The pipe's shell is interrupted too, as in a terminal, and waits for it.
    DEDLOC_KEY=$key setsid sh -c "trap : TERM; curl -fsS ${url}join.sh | sh -s -- --json" \
        </dev/null >/case/said 2>&1 &
    joined=$!
    until grep -q ' [1-9][0-9]* samples of yours counted' /case/said; do
        kill -0 "$joined" 2>/dev/null || end 1 'it has ended'
        sleep 0.2
    done
    echo $(($(date +%s) - begin)) >/case/counted
    begin=$(date +%s)
    kill -TERM "-$joined"
    wait "$joined" || end 1 "status $? after an interruption"
    echo $(($(date +%s) - begin)) >/case/left
    grep -q '"left; [1-9][0-9]* samples' /case/said || end 1 'no last word'
fi
# systemd has folders there for its services and for sockets.
left=$(find /tmp -mindepth 1 -maxdepth 1 ! -name 'systemd-private-*' ! -name '.*-unix')
[ -z "$left" ] || end 1 "left in /tmp: $left"
for process in /proc/[0-9]*; do
    line=$(tr '\0' ' ' <"$process/cmdline" 2>/dev/null)
    case $line in
        *boinc* | *dedloc-join* | *dedloc_* | *join.sh*) end 1 "left running: $line" ;;
    esac
done
end 0
