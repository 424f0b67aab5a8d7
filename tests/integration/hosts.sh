# Hosts of a test that has a network namespace and a mount namespace of its own: open ones on a
# "street", and ones in a house whose router is a NAT; to be sourced.

# make_street: the bridge that all hosts and routers are on.
make_street() {
    mkdir -p /run/netns
    mount -t tmpfs tmpfs /run/netns
    ip link set lo up
    ip link add street type bridge
    ip link set street up
}

# at HOST COMMAND...
at() { ip netns exec "$@"; }

# shape HOST DEVICE MBIT: a token bucket of 2 ms, at least one packet of 64 KB, with a queue of
# 50 ms.
shape() {
    local burst
    burst=$(awk -v r="$3" 'BEGIN { b = r * 250; printf "%d", (b > 67036 ? b : 67036) }')
    if [[ $1 == street ]]; then
        tc qdisc replace dev "$2" root tbf rate "${3}mbit" burst "$burst" latency 50ms
    else
        tc -n "$1" qdisc replace dev "$2" root tbf rate "${3}mbit" burst "$burst" latency 50ms
    fi
}

# add_host NAME NUMBER [UP_MBIT DOWN_MBIT]: at 10.78.0.NUMBER and fd78::NUMBER.
add_host() {
    ip netns add "$1"
    ip link add "to-$1" master street up type veth peer name street netns "$1"
    ip -n "$1" addr add "10.78.0.$2/24" dev street
    ip -n "$1" addr add "fd78::$2/64" dev street nodad
    ip -n "$1" link set lo up
    ip -n "$1" link set street up
    [[ -z ${3:-} ]] || shape "$1" street "$3"
    [[ -z ${4:-} ]] || shape street "to-$1" "$4"
}

# add_house NAME NUMBER [UP_MBIT DOWN_MBIT]: the host NAME at 192.168.78.2, behind a router at
# 10.78.0.NUMBER that lets nothing in but answers.
add_house() {
    local router=nat-$1
    add_host "$router" "${@:2}"
    ip netns add "$1"
    ip -n "$router" link add house type veth peer name house netns "$1"
    ip -n "$router" addr add 192.168.78.1/24 dev house
    ip -n "$router" link set house up
    ip -n "$1" addr add 192.168.78.2/24 dev house
    ip -n "$1" link set lo up
    ip -n "$1" link set house up
    ip -n "$1" route add default via 192.168.78.1
    at "$router" sysctl -qw net.ipv4.ip_forward=1
    at "$router" nft -f - <<'RULES'
table ip nat {
    chain out {
        type nat hook postrouting priority srcnat; policy accept;
        oifname "street" masquerade
    }
    chain guard {
        type filter hook forward priority filter; policy drop;
        iifname "house" accept
        ct state established,related accept
    }
}
RULES
}
