# The keeper of what a device changes: a plan follows, a step a line, and all of it is undone, the latest step first, when this is
# asked to end (TERM). So its guard asks it, also when the connection is lost. A step is whole: who asks meanwhile is heard behind it.
exec 2>&1
undo=
ended=
sleeping=
trap 'ended=yes' TERM

end() {
    trap '' TERM
    [ -z "$sleeping" ] || kill "$sleeping"
    eval "$undo"
    exit "$1"
} 2>/dev/null

# Does what its other words say, of which the first word says how it is undone.
step() {
    back=$1
    shift
    if ! (trap '' TERM && "$@"); then
        echo "refused: $*"
        end 1
    fi
    undo="$back
$undo"
    [ -z "$ended" ] || end 0
}

put() {
    echo "$1" >"$2"
}

# Writes to a file of the kernel, and remembers what was there.
switch() {
    old=$(cat "$1")
    step "echo '$old' >$1" put "$2" "$1"
}

# An interface sends nothing by itself: not every kernel has IPv6.
silence() {
    [ ! -e "/proc/sys/net/ipv6/conf/$1" ] || switch "/proc/sys/net/ipv6/conf/$1/disable_ipv6" 1
}

# Packets that come by an interface are dealt with on these cores.
steer() {
    for queue in /sys/class/net/"$1"/queues/rx-*; do
        switch "$queue/rps_cpus" "$2"
    done
}

station() {
    old=$(ip -oneline link show dev "$1" | sed -n 's|.* link/ether \([^ ]*\) .*|\1|p')
    step "ip link set dev $1 address $old" ip link set dev "$1" address "$2"
}

# An interface takes what is for others, too.
promiscuous() {
    ip -oneline link show dev "$1" | grep -q '[<,]PROMISC[,>]' && return
    step "ip link set dev $1 promisc off" ip link set dev "$1" promisc on
}

# A table of routes for what comes by the test's ports: the host's own way to anywhere, and so the connection, stays as it is.
# Its last route has not the last metric: with that, flushing a table of IPv6 leaves it there, as the kernel's own.
table() {
    # The second word, if there is one, is the option of the family.
    if [ -n "$(ip $2 route show table "$1" 2>/dev/null)" ]; then
        echo "there are routes in table $1 already: run 'ip $2 route flush table $1'"
        echo "refused: table $1"
        end 1
    fi
    step "ip $2 route flush table $1" ip $2 route add unreachable default metric 4294967294 table "$1"
}

# What /sys shows are the interfaces of the namespace in which it was mounted.
renew_sys() {
    step '' mount -t sysfs sysfs /sys
}

# A rule of the filter, undone with its table.
rule() {
    step '' nft "$@"
}

# Many routes: undone with their table or their port's address, so this need not be whole.
routes() {
    if ! ip -batch "$1"; then
        [ -z "$ended" ] || end 0
        echo "refused: ip -batch $1"
        end 1
    fi
    [ -z "$ended" ] || end 0
}

hold() {
    trap 'end 0' TERM
    [ -z "$ended" ] || end 0
    echo kept.
    while :; do
        sleep 3600 &
        sleeping=$!
        wait
    done
}
