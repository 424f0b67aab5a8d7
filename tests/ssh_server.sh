#!/usr/bin/env bash
# Runs an SSH server for a test, at a port of 127.0.0.1, for the user that runs it. All of its files
# are in FOLDER. FOLDER/bin/ssh is an ssh that may log in there: put FOLDER/bin first in PATH. The
# key allows forwarding only, as project_server/administration.md advises. A second start in the
# same folder uses the same keys.
# Usage: ssh_server.sh FOLDER PORT
set -euo pipefail
folder=$(realpath "$1") port=$2
umask 077
mkdir -p "$folder/bin"
for key in host_key user_key; do
    [[ -e $folder/$key ]] || ssh-keygen -q -t ed25519 -N '' -C '' -f "$folder/$key"
done
echo "restrict,port-forwarding,command=\"/bin/false\"" \
    "$(<"$folder/user_key.pub")" >"$folder/authorized_keys"
echo "[127.0.0.1]:$port $(<"$folder/host_key.pub")" >"$folder/known_hosts"
cat >"$folder/ssh_config" <<END
IdentityFile $folder/user_key
IdentitiesOnly yes
UserKnownHostsFile $folder/known_hosts
GlobalKnownHostsFile /dev/null
END
printf '#!/bin/sh\nexec /usr/bin/ssh -F %s "$@"\n' "$folder/ssh_config" >"$folder/bin/ssh"
chmod 700 "$folder/bin/ssh"
cat >"$folder/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $folder/host_key
AuthorizedKeysFile $folder/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
END
# What a root server confines itself to; the package makes it only when its service starts.
[[ $EUID != 0 ]] || mkdir -p -m 755 /run/sshd
exec /usr/sbin/sshd -D -e -f "$folder/sshd_config"
