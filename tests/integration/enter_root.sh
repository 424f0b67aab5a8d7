#!/usr/bin/env bash
# enter_root.sh LOWER WORK INIT USER: for join_roots.sh, in namespaces of its own: begins a system
# whose files are those of LOWER, and runs /case/inside there, as root or as the account 1000. Files
# that are written stay in WORK/upper. With INIT systemd, systemd is process 1 and the case is a
# service.
set -Eeuo pipefail
lower=$1 work=$2 init=$3 user=$4
root=$work/root
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/work" "$root"
mkdir -p "$root/case" "$root/home/volunteer"
chmod 1777 "$root/tmp"
chown 1000:1000 "$root/home/volunteer"
# A link of systemd leads to /run, which is emptied below.
cp --remove-destination -L /etc/resolv.conf "$root/etc/"
grep -q '^volunteer:' "$root/etc/passwd" \
    || echo 'volunteer:x:1000:1000::/home/volunteer:/bin/sh' >>"$root/etc/passwd"
grep -q '^volunteer:' "$root/etc/group" || echo 'volunteer:x:1000:' >>"$root/etc/group"
mount --bind "$work/case" "$root/case"
mount -t proc proc "$root/proc"
# The kernel's settings and devices are this machine's: not to be changed.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null || mount --rbind -o ro /sys "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
home=/root identity=()
if [[ $user == user ]]; then
    home=/home/volunteer
    identity=(setpriv --reuid 1000 --regid 1000 --clear-groups)
fi
if [[ $init == systemd ]]; then
    unit=$root/etc/systemd/system
    cat >"$unit/case.service" <<UNIT
[Unit]
Description=Joins
[Service]
Type=oneshot
TimeoutStartSec=infinity
User=$([[ $user == user ]] && echo volunteer || echo root)
Environment=HOME=$home
WorkingDirectory=$home
ExecStart=/bin/sh /case/inside
UNIT
    mkdir -p "$unit/multi-user.target.wants"
    ln -sf ../case.service "$unit/multi-user.target.wants/"
    ln -sf /dev/null "$unit/console-getty.service"
fi
mkdir "$root/run/outside"
cd "$root"
pivot_root . run/outside
if [[ $init == systemd ]]; then
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    umount -l /run/outside
    # Clock, modules and the machine's power are not this system's.
    exec setpriv --bounding-set -sys_time,-sys_module,-sys_rawio,-sys_boot,-syslog \
        env -i container=dedloc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
fi
umount -l /run/outside
cd "$home"
env -i "${identity[@]}" env HOME="$home" PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh /case/inside || true
