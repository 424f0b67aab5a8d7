#!/bin/sh
# For join_roots.sh, inside the bare system: joins in one of four ways, and looks for what is left.
#   script     /join.sh until a sample is counted, then interrupted
#   notebook   /join.ipynb in the same way, and once with a wrong key
#   moments    /join.sh, interrupted at four earlier moments
#   errors     /join.sh with a wrong key, without a network, without the system's archive
# Files of /case: begin, said (what was shown), counted and left (seconds), sentences, status.
set -u
# shellcheck source=/dev/null
. /case/settings
wrong=$(printf '%032d' 7)
end() {
    [ "$1" = 0 ] || printf '%s\n' "$2" >>/case/said
    echo "$1" >/case/status
    exit "$1"
}
[ "$(cat /proc/1/comm)" != systemd ] \
    || echo "systemd $(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')" >/case/systemd
touch /case/begin # files that are newer are traces

nothing_left() {
    # systemd has folders there for its services and for sockets.
    left=$(find /tmp -mindepth 1 -maxdepth 1 ! -name 'systemd-private-*' ! -name '.*-unix')
    [ -z "$left" ] || end 1 "left in /tmp: $left"
    for process in /proc/[0-9]*; do
        line=$(tr '\0' ' ' <"$process/cmdline" 2>/dev/null)
        case $line in
            *boinc* | *dedloc-join* | *dedloc_* | *join.sh*) end 1 "left running: $line" ;;
        esac
    done
}
# start: joins in the background. The pipe's shell is interrupted too, as in a terminal, and waits.
start() {
    DEDLOC_KEY=$key setsid sh -c "trap : TERM; curl -fsS ${url}join.sh | sh -s -- --json" \
        </dev/null >/case/said 2>&1 &
    joined=$!
    begin=$(date +%s)
}
# heard WORDS: waits until they are shown.
heard() {
    until grep -q "$1" /case/said; do
        kill -0 "$joined" 2>/dev/null || end 1 'it has ended'
        sleep 0.2
    done
}
# interrupt: says in /case/left how long it takes to leave.
interrupt() {
    begin=$(date +%s)
    kill -TERM "-$joined"
    wait "$joined" || end 1 "status $? after an interruption"
    echo $(($(date +%s) - begin)) >>/case/left
    nothing_left
}
# moment WORDS LATER: progress is shown every other second, so words may be left out. Then LATER is
# shown, and it begins anew.
moment() {
    for try in 1 2 3 4 5; do
        start
        heard "$1\\|$2"
        interrupt
        ! grep -q "$1" /case/said || return 0
    done
    end 1 "$1 was not shown in $try tries"
}
# refused SENTENCE COMMAND...: that is all that it complains of.
refused() {
    sentence=$1
    shift
    ! "$@" </dev/null >/case/said 2>&1 || end 1 "no error: $sentence"
    [ "$(grep -c '^join: ' /case/said)" = 1 ] || end 1 "not one sentence: $sentence"
    tail -n 1 /case/said | grep -q "^join: .*$sentence" || end 1 "not the last: $sentence"
    tail -n 1 /case/said >>/case/sentences
    nothing_left
}

by_script() {
    start
    heard ' [1-9][0-9]* samples of yours counted'
    echo $(($(date +%s) - begin)) >/case/counted
    interrupt
    grep -q '"left; [1-9][0-9]* samples' /case/said || end 1 'no last word'
}
by_notebook() {
    DEDLOC_KEY=$wrong python3 /case/run_notebook.py /case/join.ipynb /case/refused.ipynb 1 \
        >/case/said 2>&1 || end 1 'the notebook fails with a wrong key'
    sed 's/<[^>]*>/\n/g' /case/refused.ipynb.html | grep '^join: ' >/case/sentences
    [ "$(grep -c 'no account of .* has this key$' /case/sentences)" = 1 ] \
        || end 1 'the notebook does not say that the key is wrong'
    DEDLOC_KEY=$key python3 /case/run_notebook.py /case/join.ipynb /case/executed.ipynb 1 \
        >/case/said 2>&1 || end 1 'the notebook fails'
    cat /case/executed.ipynb.html >>/case/said
    for wanted in 'samples of yours counted' 'left; [1-9]' '<polyline' 'training loss'; do
        grep -q "$wanted" /case/executed.ipynb.html || end 1 "the notebook lacks $wanted"
    done
    sed -n 's/^counted after \([0-9]*\) s$/\1/p' /case/said >/case/counted
    sed -n 's/^left in \([0-9]*\) s$/\1/p' /case/said >/case/left
}
by_moments() {
    start
    heard '"plan"'
    interrupt
    start
    heard '"attached"'
    interrupt
    moment downloading 'the app runs\|yours counted'
    moment 'the app runs' 'yours counted'
}
by_errors() {
    curl -fsS "${url}join.sh" -o /case/join.sh || end 1 'no join.sh'
    export DEDLOC_KEY="$wrong"
    refused 'no account of .* has this key' sh /case/join.sh --json
    DEDLOC_KEY=$key
    refused 'does not answer' unshare --map-root-user --net sh /case/join.sh --json
    no_proxy=${url#*//}
    export no_proxy="${no_proxy%%[:/]*}" http_proxy=http://127.0.0.1:1
    refused 'boinc-client cannot be fetched' sh /case/join.sh --json
}
"by_$way"
nothing_left
end 0
