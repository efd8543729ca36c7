# A bare root of Debian with a systemd of its own, in namespaces: what users have who install a package. Sourced by the scripts here.
#
# `boot` starts it, `inside COMMAND` runs a command there, and all of it goes with the script. It takes root, mmdebstrap, and a
# network the first time: the root is kept in $BARE_ROOT.

: "${BARE_ROOT:=/var/tmp/quiver-bare-root.tar}"
# What the tests call there; Quiver's packages bring what they need themselves.
PROGRAMS=systemd,systemd-sysv,iproute2,iputils-ping

fail() {
    echo "$0: $*" >&2
    exit 1
}

say() {
    echo "== $*"
}

boot() {
    [ "$(id -u)" = 0 ] || fail "a bare root takes root: run it by sudo"
    if [ ! -e "$BARE_ROOT" ]; then
        say "making a bare root"
        mmdebstrap --quiet --format=tar --variant=minbase --include="$PROGRAMS" bookworm "$BARE_ROOT.new" || fail "mmdebstrap cannot make a root"
        mv "$BARE_ROOT.new" "$BARE_ROOT"
    fi
    folder=$(mktemp --directory /var/tmp/quiver-root.XXXXXX)
    group=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET)/quiver-root-$$
    machine='' parent=''
    trap leave EXIT
    mkdir "$folder/root" "$group" || fail "a control group (cgroup2) cannot be made"
    tar --extract --file "$BARE_ROOT" --directory "$folder/root" --exclude './dev/*'
    : >"$folder/log"
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec unshare --cgroup --mount --pid --fork --net --uts --ipc bash -s -- "$folder/root" >>"$folder/log" 2>&1 <<'INIT'
set -e
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs tmp "$root/tmp"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"
done
mkdir "$root/dev/net" "$root/dev/shm"
mknod -m 666 "$root/dev/net/tun" c 10 200
mount -t tmpfs shm "$root/dev/shm"
# What belongs to a machine with hardware.
for unit in systemd-udevd systemd-udev-trigger systemd-networkd systemd-resolved systemd-timesyncd; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit.service"
done
ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
hostname bare
ip link set lo up
# Later mounts, as of namespaces, reach the services, as on a machine.
mount --make-rshared "$root"
exec chroot "$root" env -i container=bare PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
INIT
    ) &
    parent=$!
    for _ in $(seq 300); do
        machine=$(pgrep --parent "$parent" | head -n 1)
        [ -n "$machine" ] && [ "$(cat "/proc/$machine/comm")" = systemd ] && [ -S "/proc/$machine/root/run/systemd/private" ] && break
        kill -0 "$parent" 2>/dev/null || fail "the bare root does not start: $(cat "$folder/log")"
        sleep 0.1
    done
    inside systemctl is-system-running --wait >/dev/null || true
}

# A command in the root, as root.
inside() {
    nsenter --target "$machine" --all --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root "$@"
}

# Lines of a shell, in the root.
inside_sh() {
    inside sh -ec "$1"
}

# Where a path of the root is outside of it; what is mounted there is seen, too.
outside() {
    echo "/proc/$machine/root$1"
}

leave() {
    status=$?
    trap - EXIT
    # With its first process all others of the namespace end.
    [ -z "$machine" ] || kill -KILL "$machine" 2>/dev/null || true
    [ -z "$parent" ] || wait "$parent" 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
        [ -d "$group" ] || break
        sleep 0.2
    done
    rm -rf --one-file-system "$folder"
    exit "$status"
}

# Tries a command of this script for some seconds.
within() {
    seconds=$1
    shift
    for _ in $(seq $((seconds * 5))); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    fail "not within $seconds s: $*: $("$@" 2>&1 | tail -n 5)
$(inside journalctl --no-pager --unit quiver 2>/dev/null | tail -n 15)"
}
