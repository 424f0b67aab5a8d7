#!/usr/bin/env bash
# `dedloc-peer` reports each error in one sentence, trains alone and with others, and leaves within
# two seconds.
# Usage: peer_tool_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
peer=$1/dedloc-peer
cd "$folder"

# The seed that writes to this file has printed its addresses.
has_address() { grep -qs '"address":"[^"]*"' "$1"; }
address_in() { grep -o '"address":"[^"]*"' "$1" | cut -d '"' -f 4; }
# reached STEP FILE
reached() { grep -qs "\"step\":$1," "$2"; }

echo "wrong arguments"
says 2 'subcommand is required' "$peer"
says 2 'RUNFILE is required' "$peer" join
says 2 'not expected' "$peer" join run.json --bogus
says 2 'cannot read' "$peer" join none.json
says 2 'at least one byte' "$peer" create run.json --key key --bytes 0
says 2 'wants HOST:PORT' "$peer" create run.json --key key --bytes 8 --seed nowhere
says 2 'target-batch' "$peer" create run.json --key key --bytes 8 --target-batch 0
[[ -z $(ls) ]] || fail_test "something was left: $(ls)"
# Steps of about half a second: in much shorter ones a newcomer may miss many calls.
"$peer" create run.json --key key --bytes 64kB --steps 1000000 --target-batch 100
says 2 'exists already' "$peer" create run.json --key key --bytes 8
says 2 'name a DHT seed' "$peer" join run.json
says 2 'HOST:PORT' "$peer" join run.json --seed nowhere
says 2 'wants PORT' "$peer" join run.json --seed 127.0.0.1:9 --listen here
says 2 'excludes' "$peer" join run.json --seed 127.0.0.1:9 --listen 9 --outbound-only
says 2 'computes nothing' "$peer" join run.json --seed 127.0.0.1:9 --aggregator \
    --samples-per-second 1
says 2 'has to join as one' "$peer" join run.json --seed 127.0.0.1:9 --key key
says 2 'needs --key' "$peer" join run.json --seed 127.0.0.1:9 --backbone
says 2 'no key file' "$peer" join run.json --seed 127.0.0.1:9 --backbone --key none
says 2 'for a backbone' "$peer" join run.json --seed 127.0.0.1:9 --memory votes
says 2 'numeric HOST:PORT' "$peer" seed nowhere:1
says 2 'RUNFILE is required' "$peer" ticket
says 2 'no key file' "$peer" ticket run.json --project-key none --key one.key --ticket one
head -c 32 /dev/zero | od -An -v -tx1 | tr -d ' \n' >other.key
says 2 "not the project's key" "$peer" ticket run.json --project-key other.key --key one.key \
    --ticket one
says 2 'holds no ticket' "$peer" join run.json --seed 127.0.0.1:9 --ticket other.key
says 2 'URL is required' "$peer" check
says 2 'no http or https URL' "$peer" check gopher://127.0.0.1/
says 1 'no gateway answers at http://127.0.0.1:9/' "$peer" check http://127.0.0.1:9/
for subcommand in check create seed join ticket; do
    "$peer" $subcommand --help | grep -q -- --help || fail_test "no help of $subcommand"
done

echo "a swarm of two"
"$peer" seed 127.0.0.1:0 --run run.json --key key --memory votes >seed.out 2>seed.err &
seed=$!
await 10 "the seed" has_address seed.out
address=$(address_in seed.out)
says 1 'port is in use' "$peer" seed "$address"
"$peer" join run.json --seed "$address" --samples-per-second 200 --check >one.out 2>one.err &
one=$!
await 20 "three steps" reached 3 one.out
port=$(grep -o '"port":[0-9]*' one.out | cut -d : -f 2)
says 1 'port is in use' "$peer" join run.json --seed "$address" --listen "$port"
digest=$(grep '"step":3,' one.out | grep -o '"digest":"[^"]*"')
await 5 "the same at the backbone" reached 3 seed.out
grep '"step":3,' seed.out | grep -q "$digest" || fail_test "two digests of step 3"
"$peer" join run.json --seed "$address" --outbound-only --samples-per-second 100 --check \
    >two.out 2>two.err &
two=$!
await 20 "three members" grep -qs '"members":3' two.out

echo "leaving"
# ends PID STATUS SIGNAL: ctest's time limit catches a member that stays.
ends() {
    local status=0
    kill -"$3" "$1"
    wait "$1" || status=$?
    [[ $status == "$2" ]] || fail_test "status $status instead of $2"
}
ends "$two" 130 INT
ends "$one" 0 TERM
ends "$seed" 0 TERM
for name in seed one two; do
    tail -n 1 $name.out | grep -q '"event":"end".*"reason":"stopped"' \
        || fail_test "$name has no last line: $(tail -n 1 $name.out)"
done
none_left "the swarm"

echo "a swarm with tickets"
# Else the first swarm's output would be mistaken for this one's.
rm ./*.out ./*.err
for name in key one two; do
    "$peer" ticket run.json --project-key key --key "$name" --ticket "$name.ticket" --seconds 600
done
says 2 'for another key' "$peer" join run.json --seed 127.0.0.1:9 --key one --ticket two.ticket
"$peer" create other.json --key key --bytes 8
says 2 'for another run' "$peer" join other.json --seed 127.0.0.1:9 --key one --ticket one.ticket
"$peer" create foreign.json --key foreign --bytes 8
"$peer" ticket foreign.json --project-key foreign --key one --ticket foreign.ticket
says 2 "not signed by its run's project" "$peer" join run.json --seed 127.0.0.1:9 --key one \
    --ticket foreign.ticket
"$peer" ticket run.json --project-key key --key one --ticket short.ticket --seconds 1
sleep 2
says 2 'our ticket has expired' "$peer" join run.json --seed 127.0.0.1:9 --key one \
    --ticket short.ticket
"$peer" seed 127.0.0.1:0 --run run.json --key key --ticket key.ticket >seed.out 2>seed.err &
seed=$!
await 10 "the seed" has_address seed.out
address=$(address_in seed.out)
"$peer" join run.json --seed "$address" --key one --ticket one.ticket --samples-per-second 200 \
    --check >one.out 2>one.err &
one=$!
await 20 "three steps" reached 3 one.out
"$peer" join run.json --seed "$address" --samples-per-second 100 >two.out 2>two.err &
two=$!
await 20 "who has no ticket is refused" grep -q 'no link of a peer' seed.err one.err
ends "$two" 0 TERM
! reached 1 two.out || fail_test "a peer without a ticket has got a state"
"$peer" join run.json --seed "$address" --key two --ticket two.ticket --samples-per-second 100 \
    --check >two.out 2>two.err &
two=$!
await 20 "three members" grep -qs '"members":3' two.out
ends "$two" 0 TERM
ends "$one" 0 TERM
ends "$seed" 0 TERM
none_left "the swarm with tickets"
echo "passed"
