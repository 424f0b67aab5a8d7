#!/usr/bin/env bash
# Volunteers behind separate NATs, which cannot dial each other, train together: a backbone, or an
# aggregator that can be dialled, averages for them. Each has a link of its own speed. One joins
# late, some do not know that they cannot be dialled, and some have IPv4 or IPv6 only. Prints
# shares, samples and bytes. All hosts are network namespaces that only this test sees.
# Usage: nat_test.sh PROGRAMS [relay] (as root; status 77 if it cannot make the hosts)
# relay: prints how many bytes the backbone moves if it averages for two, four and eight volunteers,
# and if it forwards their packets to each other instead. Asserts nothing.
set -Eeuo pipefail
peer=$(realpath "$1")/dedloc-peer
if [[ -z ${DEDLOC_OWN_HOSTS:-} ]]; then
    if [[ $EUID != 0 ]] || ! unshare --mount --net true 2>/dev/null; then
        echo "only root can make hosts: not looked at"
        exit 77
    fi
    DEDLOC_OWN_HOSTS=yes exec unshare --mount --net --propagation private "$0" "$@"
fi
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/hosts.sh"
cd "$folder"
steps=14

# make_run: a new run, and a key with a ticket for each peer.
make_run() {
    local name
    rm -rf ./*.out ./*.err ./*.json ./*.key ./*.ticket
    "$peer" create run.json --key hub.key --bytes 400kB --steps "$steps" --target-batch 60
    for name in hub helper a b c four six v{1..8}; do
        "$peer" ticket run.json --project-key hub.key --key $name.key --ticket $name.ticket
    done
}
# begin ARGUMENT...: a new run and its backbone.
begin() {
    make_run
    start hub seed 10.78.0.1:7000 --run run.json --listen 7001 "$@"
    await 10 "the seed" grep -qs '"address"' hub.out
}
declare -A pids=()
# start NAME ARGUMENT...: dedloc-peer on the host of that name.
start() {
    ip netns exec "$1" "$peer" "${@:2}" --key "$1.key" --ticket "$1.ticket" >"$1.out" 2>"$1.err" &
    pids[$1]=$!
}
# join NAME ARGUMENT...
join() { start "$1" join run.json --seed 10.78.0.1:7000 "${@:2}"; }
reached() { grep -qs "\"step\":$1," "$2.out"; }
members() { grep -qs "\"members\":$1," "$2.out"; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2"; }  # NAME FILE

# finish NAME...: the run ends; all have the same state, and all samples are those of volunteers.
finish() {
    local name all=0 own share
    for name in "$@"; do
        wait "${pids[$name]}" || fail_test "$name ends with status $?: $(tail -n 5 "$name.err")"
    done
    await 30 "the backbone to have the last state" reached "$steps" hub
    kill "${pids[hub]}"
    wait "${pids[hub]}" || fail_test "the backbone ends with status $?"
    printf '  %-9s %9s %9s %8s %12s %12s\n' "" rounds samples share "sent, kB" "received, kB"
    for name in hub "$@"; do
        own=$(field own_samples "$name.out" | awk '{ sum += $1 } END { print sum + 0 }')
        share=$(mean own_share "$name")
        if [[ $name == helper ]]; then  # holds no state, so it prints no steps
            share=$(awk -v hub="$(mean own_share hub)" 'BEGIN { print 1 - hub }')
        else
            ends_with_the_run "$name"
        fi
        all=$((all + own))
        printf '  %-9s %9d %9d %8.2f %12d %12d\n' "$name" \
            "$(field own_samples "$name.out" | wc -l)" "$own" "$share" \
            $(($(tail -n 1 "$name.out" | field sent_bytes -) / 1000)) \
            $(($(tail -n 1 "$name.out" | field received_bytes -) / 1000))
    done
    # A peer that has loaded a state does not know the round that led to it.
    [[ $all -le "$(field samples hub.out | awk '{ sum += $1 } END { print sum }')" ]] \
        || fail_test "samples were counted twice"
}
# ends_with_the_run NAME: its last state is the backbone's of that step, and that step is the last
# one, or the peer was told that it takes part in some rounds only: it does not load the last state.
ends_with_the_run() {
    local end step digest
    end=$(tail -n 1 "$1.out")
    grep -q '"event":"end".*"reason":"finished"' <<<"$end" || fail_test "$1 has no end: $end"
    step=$(grep -o '"step":[0-9]*' <<<"$end" | cut -d : -f 2)
    digest=$(grep "\"event\":\"step\".*\"step\":$step," hub.out | field digest -)
    [[ $(field digest - <<<"$end") == "$digest" ]] \
        || fail_test "$1 has another state at step $step: $end"
    [[ $step == "$steps" ]] \
        || grep -q "takes part in one round of\|takes part whenever\|this computer rests" "$1.err" \
        || fail_test "$1 ends at step $step: $end"
}
mean() { field "$1" "$2.out" | awk '{ sum += $1 } END { print (NR > 0 ? sum / NR : 0) }'; }
# has_samples NAME...: samples of each were counted.
has_samples() {
    local name
    for name in "$@"; do
        [[ -n $(field own_samples "$name.out" | grep -v '^0$') ]] \
            || fail_test "no sample of $name was counted: $(tail -n 5 "$name.err")"
    done
}
# averages_nothing NAME...
averages_nothing() {
    local name
    for name in "$@"; do
        [[ $(mean own_share "$name") == 0 ]] || fail_test "$name has averaged"
    done
}

# moved DIRECTION: bytes on the links of the hub to the volunteers; rx or tx, as the hub sees them.
moved() {
    at hub bash -c "cat /sys/class/net/to-v*/statistics/$1_bytes" \
        | awk '{ sum += $1 } END { print sum }'
}
# relay: each volunteer has a link to the hub only. The hub averages everything for volunteers that
# are outbound-only. Or they dial each other through the hub, whose declared bandwidth is so small
# that it averages nothing.
relay() {
    local count k way options hub_options in out name
    ip -n hub addr flush dev street
    ip -n hub link add yard up type bridge
    ip -n hub addr add 10.78.0.1/24 dev yard
    for k in {1..8}; do
        ip netns add "v$k"
        ip -n hub link add "to-v$k" master yard up type veth peer name hub netns "v$k"
        ip -n "v$k" addr add "10.78.0.2$k/24" dev hub
        ip -n "v$k" link set lo up
        ip -n "v$k" link set hub up
    done
    echo "kB a round: volunteers, the hub's work, received, sent"
    for count in 2 4 8; do
        for way in averages forwards; do
            hub_options=(--declared)
            [[ $way == averages ]] || hub_options+=(--upload-mbit 0.01 --download-mbit 0.01)
            begin "${hub_options[@]}"
            in=$(moved rx) out=$(moved tx)
            for ((k = 1; k <= count; ++k)); do
                options=(--listen "10.78.0.2$k:7001" --declared --upload-mbit 50 --download-mbit 50)
                [[ $way == forwards ]] || options=(--outbound-only)
                join "v$k" "${options[@]}" --samples-per-second 30
            done
            for ((k = 1; k <= count; ++k)); do wait "${pids[v$k]}"; done
            kill "${pids[hub]}"
            wait "${pids[hub]}"
            echo "  $count $way $((("$(moved rx)" - in) / steps / 1000))" \
                "$((("$(moved tx)" - out) / steps / 1000)), hub's share $(mean own_share hub)"
        done
    done
}

make_street
add_host hub 1 50 50
if [[ ${2:-} == relay ]]; then
    relay
    exit
fi

echo "hosts: a backbone, an aggregator, three volunteers behind NATs of their own"
add_host helper 2 20 20
add_house a 11 8 40
add_house b 12 4 20
add_house c 13 6 30

echo "two behind NATs, one joins late, and the backbone averages"
begin
join a --outbound-only --samples-per-second 60
join b --outbound-only --samples-per-second 30
await 60 "two steps" reached 2 hub
join c --outbound-only --samples-per-second 40
await 60 "all four in a round" members 4 hub
finish a b c
has_samples a b c
averages_nothing a b c

echo "the same with an aggregator that can be dialled"
begin
join helper --aggregator
await 30 "the aggregator" grep -qs '"event":"start"' helper.out
join a --outbound-only --samples-per-second 60
join b --outbound-only --samples-per-second 30
await 60 "two steps" reached 2 hub
join c --outbound-only --samples-per-second 40
finish a b c helper
has_samples a b c
averages_nothing a b c
awk -v hub="$(mean own_share hub)" 'BEGIN { exit !(hub < 0.9) }' \
    || fail_test "the aggregator has averaged next to nothing"

echo "volunteers that cannot be dialled and do not know it"
begin
join a --listen 0.0.0.0:7001 --samples-per-second 60
join b --listen 0.0.0.0:7001 --samples-per-second 30
await 60 "both in a round" members 3 hub
dials() { at "$1" timeout 2 bash -c ": >/dev/tcp/$2/7001" 2>/dev/null; }
dials nat-b 192.168.78.2 || fail_test "the volunteer does not listen"
! dials a 10.78.0.12 || fail_test "a volunteer dials the other"
! dials b 10.78.0.11 || fail_test "a volunteer dials the other"
finish a b
has_samples a b
averages_nothing a b

echo "one with IPv4 only, one with IPv6 only, and a backbone with both"
add_house four 14 8 40
at four sysctl -qw net.ipv6.conf.all.disable_ipv6=1
add_host six 16 4 20
ip -n six addr del 10.78.0.16/24 dev street
make_run
seeds=(10.78.0.1:7000 '[fd78::1]:7000') seed_pids=()
for seed in "${seeds[@]}"; do
    ip netns exec hub "$peer" seed "$seed" >"seed-$seed.out" 2>&1 &
    seed_pids+=($!)
done
start hub join run.json --backbone --listen '[::]:7001' --seed "${seeds[0]}" --seed "${seeds[1]}"
start four join run.json --seed "${seeds[0]}" --outbound-only --samples-per-second 60
start six join run.json --seed "${seeds[1]}" --samples-per-second 30
await 60 "both in a round" members 3 hub
finish four six
has_samples four six
averages_nothing four
# Before the other one has joined, it may average.
grep '"members":3,' six.out | field own_share - | awk '$1 > 0 { bad = 1 } END { exit bad }' \
    || fail_test "one that others cannot dial has averaged"
kill "${seed_pids[@]}"
wait "${seed_pids[@]}"
none_left "the swarms"
