#!/usr/bin/env bash
# A project as strangers see it: by name over TLS with a certificate of its own CA, on ports below
# 1024, with daemons that do not run as root; one volunteer on a host of its own, and one behind a
# NAT. All hosts are network namespaces that only this test sees.
# Usage: public_address_test.sh PROGRAMS (as root; status 77 if it cannot make the hosts)
set -Eeuo pipefail
programs=$1
if [[ -z ${DEDLOC_OWN_HOSTS:-} ]]; then
    if [[ $EUID != 0 ]] || ! unshare --mount --net true 2>/dev/null; then
        echo "only root can make hosts: not looked at"
        exit 77
    fi
    DEDLOC_OWN_HOSTS=yes exec unshare --mount --net --propagation private "$0" "$@"
fi
here=$(dirname "${BASH_SOURCE[0]}")
is_large=yes
source "$here/checks.sh"
source "$here/hosts.sh"
source "$here/../../project_server/bible_text.sh"
name=train.example.test
account=daemon  # an account of every Debian, not root's

echo "hosts: a project, a volunteer, and one behind a NAT"
make_street
add_host project 1
add_host open 2
add_house hidden 3
printf '127.0.0.1 localhost\n10.78.0.1 %s\nfd78::1 %s\n' "$name" "$name" >"$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts

echo "a CA and a certificate"
chmod 755 "$folder"
mkdir "$folder/tls" "$folder/acme" "$folder/home" "$folder/programs"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Our CA" \
    -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>/dev/null
certify() {  # issues a certificate and puts both files in place, as a renewal does
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
        -keyout "$folder/tls/new.key" -out "$folder/request.pem" 2>/dev/null
    openssl x509 -req -in "$folder/request.pem" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" \
        -CAcreateserial -days 2 -extfile <(echo "subjectAltName=DNS:$name") \
        -out "$folder/tls/new.pem" 2>/dev/null
    chown "$account" "$folder/tls/new.key"
    mv "$folder/tls/new.key" "$folder/tls/key.pem"
    mv "$folder/tls/new.pem" "$folder/tls/chain.pem"
}
certify

echo "a public project of the account $account"
# The account may not look into the folder that the programs are in, but here it may.
show() {  # FOLDER AT: read-only, so nothing that cleans up can reach it
    mount --bind "$1" "$2"
    mount -o remount,ro,bind "$2"
}
at_end 'umount -l "$folder/programs" "$folder/libraries" 2>/dev/null'
show "$programs" "$folder/programs"
libraries=$(ldd "$programs/dedloc_train" | sed -n 's|.*=> \(/.*\)/libtorch_cpu.so.*|\1|p')
mkdir "$folder/libraries"
[[ -z $libraries ]] || show "$libraries" "$folder/libraries"
export LD_LIBRARY_PATH=$folder/libraries
dedloc=$folder/programs/dedloc
chown "$account" "$folder/home"
project=$folder/home/project
url=https://$name/
as_account() { at project setpriv --reuid "$account" --regid "$account" --clear-groups "$@"; }
says 2 'must not run as root' at project "$dedloc" project create "$project" --name Public \
    --listen 0.0.0.0:443 --url "$url" --certificate "$folder/tls/chain.pem" \
    --certificate-key "$folder/tls/key.pem"
at project "$dedloc" project create "$project" --name Public --user "$account" --url "$url" \
    --listen 0.0.0.0:443 --listen '[::]:443' --redirect 0.0.0.0:80 \
    --peer-port 7400 --peer-listen :: \
    --certificate "$folder/tls/chain.pem" --certificate-key "$folder/tls/key.pem" \
    --acme-webroot "$folder/acme" --contact-seconds 10
bible_text | sed -n 1,3000p >"$folder/home/text"
as_account "$dedloc" corpus build --text "$folder/home/text" --out "$folder/home/corpus" \
    --vocabulary 1000 >/dev/null 2>&1
# Root asks, and the account does it: no file of root's stays in the project.
at project "$dedloc" app add --project "$project" --binary "$folder/programs/dedloc_train" \
    --no-gzip >/dev/null
at project "$dedloc" run create --project "$project" --name first --corpus "$folder/home/corpus" \
    --model tiny --steps 12 --target-batch 64 >/dev/null
at project "$dedloc" project start "$project"
stop_all() {
    local pid
    at project "$dedloc" project stop "$project" >/dev/null || true
    for pid in $(volunteers); do kill "$pid" 2>/dev/null || true; done
    await 30 "the clients to end" no_volunteers
}
volunteers() { ip netns pids open; ip netns pids hidden; }
no_volunteers() { [[ -z $(volunteers) ]]; }
at_end stop_all
for pid in $(ip netns pids project); do
    [[ $(stat -c %U "/proc/$pid") == "$account" ]] \
        || fail_test "runs as $(stat -c %U "/proc/$pid"): $(tr '\0' ' ' <"/proc/$pid/cmdline")"
done
others=$(find "$project" ! -user "$account")
[[ -z $others ]] || fail_test "not of $account: $others"

echo "TLS, IPv6, redirection, ACME, HSTS"
fetch() { at open curl -sS --max-time 20 --cacert "$folder/ca.pem" "$@"; }
fetch -D "$folder/head" -o /dev/null "$url"
grep -qi '^strict-transport-security: max-age=' "$folder/head" || fail_test "no HSTS"
fetch -6 -o /dev/null "$url" || fail_test "not on IPv6"
[[ $(fetch -o /dev/null -w '%{http_code} %{redirect_url}' "http://$name/run?x=1") \
    == "301 ${url}run?x=1" ]] || fail_test "plain HTTP is not redirected"
mkdir -p "$folder/acme/.well-known/acme-challenge"
echo proof >"$folder/acme/.well-known/acme-challenge/token"
[[ $(fetch "http://$name/.well-known/acme-challenge/token") == proof ]] || fail_test "no ACME"
! at open curl -sS --max-time 20 -o /dev/null "$url" 2>/dev/null || fail_test "any CA is trusted"

echo "volunteers attach by name and train"
cat >"$folder/volunteer" <<'SCRIPT'
set -Eeuo pipefail
source "$1/project_server/volunteers.sh"
volunteers_dir=$2
fail() { echo "FAILED: $*" >&2; exit 1; }
unset LD_LIBRARY_PATH
volunteer_libraries=$5
mkdir -p "$2/$3"
cp "$6" "$2/$3/ca-bundle.crt"
add_volunteer "$3" "$4"
touch "$2/$3/attached"
while kill -0 "${clients[$3]}" 2>/dev/null; do sleep 1; done  # it ends with this shell
SCRIPT
for pair in "open 1" "hidden 2"; do
    read -r host number <<<"$pair"
    at "$host" bash "$folder/volunteer" "$here/../.." "$folder/volunteers" "$number" "$url" \
        "$folder/libraries" "$folder/ca.pem" &
    await 60 "volunteer $number on $host" test -e "$folder/volunteers/$number/attached"
done
for address in 10.78.0.1 fd78::1; do
    at open timeout 5 bash -c ": >/dev/tcp/$address/7401" \
        || fail_test "the backbone does not listen on $address"
done
at project timeout 300 "$dedloc" run wait --project "$project" --name first >"$folder/waited" 2>&1 \
    || fail_test "the run does not end: $(tail -n 5 "$folder/waited")
        $(tail -n 20 "$folder"/volunteers/*/client.log)"
at project "$dedloc" run report --project "$project" --name first | tee "$folder/report"
for user in volunteer-1 volunteer-2; do
    fetch "${url}users.json" | grep -q "\"$user\"" || fail_test "$user has no row"
done
grep -q 'outbound-only' "$project/log/dedloc-gateway.log" || fail_test "the hidden one is dialled"
grep -q ' 10.78.0.2, reachable' "$project/log/dedloc-gateway.log" \
    || fail_test "the open one is not dialled: $(<"$project/log/dedloc-gateway.log")"
! grep -i 'error' "$folder"/volunteers/*/client.log || fail_test "a client's log has an error"

echo "a renewed certificate is served without a restart"
serial() {
    at open openssl s_client -connect "$name:443" -servername "$name" </dev/null 2>/dev/null \
        | openssl x509 -noout -serial
}
before=$(serial)
pid=$(<"$project/pids/nginx.pid")
certify
renewed() { [[ $(serial) != "$before" ]]; }
await 20 "the new certificate" renewed
[[ $(<"$project/pids/nginx.pid") == "$pid" ]] || fail_test "nginx was restarted"

stop_all
wait
none_left "the project"
