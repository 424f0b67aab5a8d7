#!/usr/bin/env bash
# A project whose database is on an existing MariaDB server, with an account that has rights in one
# database only and must use TLS, and defaults of latin1 without strict mode: what cannot be used is
# refused in one sentence; the project works, with names in any script, also after the server was
# killed and started again; its backup becomes a project with a MariaDB of its own, or one in
# another database of the server, which it reaches by the socket.
# Usage: external_database_test.sh PROGRAMS
set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
programs=$(realpath "$1")
dedloc=$programs/dedloc
peer=$programs/dedloc-peer
project=$folder/project
restored=$folder/restored
output=$folder/server.log # which a failure prints

# An authority, the server's certificate for the name localhost, and an authority that it is not of.
make_key() { # NAME OPTIONS...
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "$folder/$1.key" "${@:2}" 2>/dev/null
}
make_key ca -x509 -days 2 -out "$folder/ca.pem"
make_key other -x509 -days 2 -out "$folder/other.pem"
make_key server -out "$folder/request.pem"
openssl x509 -req -in "$folder/request.pem" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" \
    -CAcreateserial -days 2 -extfile <(echo "subjectAltName=DNS:localhost") \
    -out "$folder/server.pem" 2>/dev/null

# The existing server.
user=$(id -un)
mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=socket \
    --auth-root-socket-user="$user" --user="$user" --datadir="$folder/data" >"$output" 2>&1
serve() {
    /usr/sbin/mariadbd --no-defaults --user="$user" --datadir="$folder/data" \
        --socket="$folder/sock" --bind-address=127.0.0.1 --port="$port" --skip-log-bin \
        --pid-file="$folder/pid" --innodb-buffer-pool-size=32M --ssl-ca="$folder/ca.pem" \
        --character-set-server=latin1 --collation-server=latin1_swedish_ci --sql-mode= \
        --ssl-cert="$folder/server.pem" --ssl-key="$folder/server.key" >>"$output" 2>&1 &
    server=$!
}
sql() { mariadb --no-defaults --socket "$folder/sock" --user "$user" --execute "$1"; }
answers() { sql 'select 1' >/dev/null 2>&1; }
starts() { # until a port is free
    port=$((20000 + RANDOM % 10000))
    serve
    for _ in {1..300}; do
        ! answers || return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}
starts || starts || starts || fail_test "the server does not start"
sql "create database boinc; create database full; create table full.t (id integer);
    create user 'd'@'%' identified by 'pass word'; grant all on boinc.* to 'd'@'%';
    grant select on full.* to 'd'@'%'; create database poor; grant select on poor.* to 'd'@'%';
    create database second; create user 'secure'@'%' identified by 'pass word' require ssl;
    grant all on boinc.* to 'secure'@'%'"
printf 'pass word\n' >"$folder/password"
printf 'wrong\n' >"$folder/wrong"
chmod 600 "$folder/password" "$folder/wrong"
url=mysql://d@127.0.0.1:$port

prints() { # STATUS PATTERN COMMAND...: one of the lines that the command prints is such
    local wanted=$1 pattern=$2 status=0
    shift 2
    "$@" >"$output.printed" 2>&1 </dev/null || status=$?
    [[ $status == "$wanted" ]] && grep -Eq -- "$pattern" "$output.printed" \
        || fail_test "$*: status $status, and not $wanted and $pattern: $(<"$output.printed")"
}
create() { # URL PASSWORD_FILE
    "$dedloc" project create "$project" --name External --database "$1" \
        --database-password-file "$2"
}
says 2 'Access denied' create "$url/boinc" "$folder/wrong"
says 2 'Access denied' create "$url/none" "$folder/password"
says 2 'CREATE command denied' create "$url/poor" "$folder/password"
says 2 'full is not empty: it has 1 tables' create "$url/full" "$folder/password"
sql 'set global max_allowed_packet = 1048576'
says 2 'at most 1048576 bytes.*set max_allowed_packet=16M' create "$url/boinc" "$folder/password"
sql 'set global max_allowed_packet = 16777216'
says 2 'Cannot connect' create mysql://d@127.0.0.1:1/boinc "$folder/password"
says 2 'Unknown.* host' create mysql://d@nowhere.invalid/boinc "$folder/password"
says 2 'wants mysql://USER@HOST:PORT/NAME' create mysql://127.0.0.1/boinc "$folder/password"
chmod 644 "$folder/wrong"
says 2 'readable by its owner only' create "$url/boinc" "$folder/wrong"
says 2 'Access denied' create "mysql://secure@127.0.0.1:$port/boinc" "$folder/password"
secure=mysql://secure@localhost:$port/boinc
says 2 'Cannot connect.*[Cc]ertificate' create "$secure?ssl-ca=$folder/other.pem" "$folder/password"
says 2 'Cannot connect.*(SSL|TLS|[Vv]alidation)' create \
    "mysql://secure@127.0.0.1:$port/boinc?ssl-ca=$folder/ca.pem" "$folder/password"
[[ ! -e $project ]] || fail_test "a refused database left a project"

says 0 'project "External"' create "$secure?ssl-ca=$folder/ca.pem" "$folder/password"
[[ ! -e $project/db/data ]] || fail_test "the project has a MariaDB of its own"
[[ $(stat -c %a "$project/config.xml") == 600 ]] || fail_test "others can read the password"
[[ $(stat -c %a "$project/db") == 700 ]] || fail_test "others can read db/"
prints 0 '^0 bad' "$dedloc" project check "$project"
sql "alter table boinc.team modify name varchar(254) character set latin1 not null default ''"
prints 1 'bad +schema +the table team compares its text by latin1_swedish_ci.*: name' \
    "$dedloc" project check "$project"
sql 'set global max_allowed_packet = 8388608'
prints 1 'bad +schema +the database server takes statements of at most 8388608 bytes' \
    "$dedloc" project check "$project"
says 2 'set max_allowed_packet=16M' "$dedloc" project upgrade "$project"
sql 'set global max_allowed_packet = 16777216'
prints 0 'the text of the table team is compared by bytes now' "$dedloc" project upgrade "$project"
prints 0 'is up to date already' "$dedloc" project upgrade "$project"
prints 0 '^0 bad' "$dedloc" project check "$project"
for word in {1..400}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null
"$dedloc" run create --project "$project" --name r --corpus "$folder/corpus" --model tiny \
    --target-batch 12 --steps 100000 --evaluate-every 0 >/dev/null
sql "insert into boinc.app (name) values ('dedloc_train')" # so that there are jobs
"$dedloc" project start "$project" >/dev/null
[[ ! -e $project/pids/mariadbd.pid ]] || fail_test "the project has started a MariaDB"

web=$(config master_url)
hash=$(printf '%032d' 7)
people=0
for name in 王小明 Ольга José; do
    people=$((people + 1))
    curl -fs "${web}create_account.php" --data-urlencode "user_name=$name" --data \
        "passwd_hash=$hash&email_addr=$people@example.org" | grep -q '<authenticator>' \
        || fail_test "no account for $name"
    prints 0 "$name" "$dedloc" user list --project "$project"
done
query="email_addr=v@example.org&user_name=v&passwd_hash=$hash"
account=$(curl -fs "${web}create_account.php?$query" \
    | sed -n 's|.*<authenticator>\(.*\)</authenticator>.*|\1|p')
host=$(curl -fs --data-binary @- "${web}cgi/scheduler" <<END | grep '<hostid>'
<scheduler_request><authenticator>$account</authenticator><hostid>0</hostid>
<rpc_seqno>1</rpc_seqno><platform_name>x86_64-pc-linux-gnu</platform_name>
<host_info><domain_name>компьютер</domain_name><p_ncpus>2</p_ncpus></host_info></scheduler_request>
END
) || fail_test "the scheduler does not answer"
[[ $host == *'<hostid>1</hostid>'* ]] || fail_test "$host"
prints 0 'компьютер' "$dedloc" host list --project "$project"
"$peer" ticket "$project/runs/r/run.json" --project-key "$project/keys/project.key" \
    --key "$folder/key" --ticket "$folder/ticket" --user 4 --host 1 >/dev/null
"$peer" join "$project/runs/r/run.json" --key "$folder/key" --ticket "$folder/ticket" \
    --samples-per-second 20 --quiet >/dev/null 2>"$folder/peer.log" &
member=$!
step() { "$dedloc" run list --project "$project" --json 2>/dev/null | jq '.runs[0].step'; }
has_step() { [[ $(step) -ge $1 ]]; }
await 90 "steps in the database" has_step 3
rows() { mariadb --no-defaults --socket "$folder/sock" --user "$user" -Ne "$1"; }
has_jobs() { [[ $(rows "select count(*) from $1") -gt 0 ]]; } # TABLE CONDITION
await 30 "jobs" has_jobs boinc.result
[[ $(rows "select count(*) from information_schema.processlist where user = 'secure'") -gt 8 ]] \
    || fail_test "the daemons have no connections with TLS"
! grep -lz 'pass word' /proc/[0-9]*/cmdline 2>/dev/null || fail_test "arguments show the password"

# The server is killed, and the project goes on without it.
before=$(step)
kill -KILL "$server"
wait "$server" || true
says 1 'Cannot connect' "$dedloc" run list --project "$project"
serve
await 60 "the server" answers
await 90 "steps after the server's return" has_step $((before + 3))

kill "$member"
wait "$member" || true
"$dedloc" project stop "$project" >/dev/null
says 0 'files' "$dedloc" project backup "$project" --to "$folder/backup"
"$dedloc" project restore "$folder/backup" "$restored" >/dev/null
"$dedloc" user show --project "$restored" v@example.org >/dev/null
[[ -e $restored/db/data ]] || fail_test "the restored project has no MariaDB of its own"
! grep -q dedloc_db_ "$restored/config.xml" || fail_test "its MariaDB is reached by TLS"

# The same backup in another database of the server, by its socket, without a password.
second="mysql://$user@localhost/second?socket=$folder/sock"
into() { "$dedloc" project restore "$folder/backup" "$folder/second" --database "$1"; }
says 2 'full is not empty' into "mysql://$user@localhost/full?socket=$folder/sock"
says 2 'is not empty' "$dedloc" project restore "$folder/backup" "$folder/second" \
    --database "$secure?ssl-ca=$folder/ca.pem" --database-password-file "$folder/password"
into "$second" >/dev/null
[[ ! -e $folder/second/db/data ]] || fail_test "the second project has a MariaDB of its own"
"$dedloc" user show --project "$folder/second" v@example.org >/dev/null
"$dedloc" project start "$folder/second" >/dev/null
[[ $("$dedloc" run list --project "$folder/second" --json | jq '.runs[0].step') -ge $before ]] \
    || fail_test "the second project has lost steps"
"$dedloc" run jobs --project "$folder/second" --name r --ready 40 --hours 1 >/dev/null
await 90 "jobs of the second project" has_jobs "second.result where id > 1000000"
"$dedloc" project stop "$folder/second" >/dev/null
kill "$server"
wait "$server" || true
none_left "the project"
