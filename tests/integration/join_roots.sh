#!/usr/bin/env bash
# Joining on bare systems: in a minimal root of each Debian release, which has curl and no BOINC
# client, /join.sh is piped into sh, and the notebook is executed, as root and as a user, with
# systemd as process 1 and without it. For each it prints the seconds until a sample is counted,
# and checks that nothing is left after the interruption; without systemd also after four earlier
# interruptions, and that a wrong key, no network and no archive of packages are one sentence each.
# Ubuntu as root without systemd is as containers of Colab and Kaggle, but for GPUs and packages.
set -Eeuo pipefail

usage() {
    cat <<'USAGE'
Usage: tests/integration/join_roots.sh [OPTION...] PROGRAMS [SUITE...]

Runs /join.sh and /join.ipynb of a project of the folder PROGRAMS (build/release/bin) in bare
systems, and prints for each of 12 cases of a release: seconds to the first counted sample and to
leave, or what is said where joining cannot work.

  SUITE           name of a release: bullseye, bookworm and trixie without one; also of Ubuntu's,
                  such as jammy
  --roots FOLDER  where the roots are made, once each: 1.5 GB for a release (build/roots)
  --only WORDS    cases whose name has these words, such as "systemd user" or "none root script";
                  the last word of a name is script, notebook, moments or errors
  --pages FOLDER  copies what the executed notebooks show to this folder
  --help          this text

Needs root, debootstrap, a mirror, overlayfs and, for systemd, cgroup2.
USAGE
}

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
is_large=yes
source "$here/checks.sh"
source "$here/roots.sh"
only='' pages='' options='only pages'
begin_in_roots "$@"
[[ -z $pages ]] || pages=$(realpath -m -- "$pages")
cgroups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1 || true)

# has_words NAME: each word of --only is one of the name's.
has_words() {
    local word
    for word in $only; do [[ " $1 " == *" $word "* ]] || return 1; done
}
cases=()
for suite in "${suites[@]}"; do
    for init in none systemd; do
        for user in root user; do
            ways='script notebook'
            [[ $init == systemd ]] || ways+=' moments errors'
            for way in $ways; do
                ! has_words "$suite $init $user $way" || cases+=("$suite $init $user $way")
            done
        done
    done
done
[[ ${#cases[@]} -gt 0 ]] || fail_test "no case has the words $only"

# root_of SUITE INIT WAY: the system of a case, made where it is missing.
root_of() {
    make_root "join-$1" "$1" curl ca-certificates >&2
    local name=join-$1
    [[ $2 == none && $3 != notebook ]] || { name=join-$1-init; add_to_root "$name" "join-$1" \
        systemd-sysv dbus >&2; }
    [[ $3 != notebook ]] || { add_to_root "join-$1-notebook" "$name" python3-nbclient \
        python3-ipykernel >&2; name=join-$1-notebook; }
    echo "$roots/$name"
}

for word in {1..2000}; do
    echo "It was day $word. The people of town $((word % 7)) went home."
done >"$folder/text"
"$dedloc" project create "$project" --name "Bare roots" --contact-seconds 10 >/dev/null
"$dedloc" corpus build --text "$folder/text" --out "$folder/corpus" --vocabulary 100 >/dev/null 2>&1
"$dedloc" app add --project "$project" --binary "$programs/dedloc_train" --no-gzip >/dev/null
"$dedloc" run create --project "$project" --name first --corpus "$folder/corpus" --model tiny \
    --target-batch 16 --steps 1000000 --evaluate-every 0 >/dev/null
start_project
hash=$(printf 'secretbare@example.org' | md5sum | cut -d ' ' -f 1)
key=$(curl -fsS "${url}create_account.php" -d "email_addr=bare%40example.org&passwd_hash=$hash" \
    -d user_name=Bare | sed -n 's|.*<authenticator>\(.*\)</authenticator>.*|\1|p')
[[ -n $key ]] || fail_test "no account"
curl -fsS "${url}join.ipynb" -o "$folder/join.ipynb"

# begin_case INIT USER: enters the system mounted at $root, in namespaces of its own, and runs
# /case/inside there. $root/case is a folder of this machine.
begin_case() {
    (
        # The group that it is in is the first one of the system's cgroup namespace.
        [[ -z $group ]] || echo "$BASHPID" >"$group/cgroup.procs"
        exec unshare --mount --pid --fork --kill-child --uts --ipc --cgroup \
            bash "$here/enter_root.sh" "$lower" "$work" "$1" "$2"
    ) </dev/null >"$work/console" 2>&1 &
    entered=$!
    disown "$entered"
}
entered='' group=''
# end_case: ends the system, and removes its cgroup once its processes are gone.
end_case() {
    local tries
    [[ -z $entered ]] || kill -KILL "$entered" 2>/dev/null || true
    entered=''
    for tries in {1..50}; do
        [[ -n $group && -d $group ]] || return 0
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.2
    done
}
at_end end_case

# Files of a system that is up, and of IPython, are no traces of joining.
not_ours='/case|/case/.*|/var/(log|tmp)/.*|/var/lib/(systemd|dbus)/.*|/etc/systemd/system/.*'
not_ours+='|/etc/(machine-id|resolv.conf|hostname|mtab)'
not_ours+='|.*/\.(ipython|jupyter|local|cache)/.*|.*/__pycache__/.*'
has_result() { [[ -s $work/case/status ]] || ! kill -0 "$entered" 2>/dev/null; }
# fails TEXT: says what a case lacks, and what was shown; the other cases follow.
failures=0
fails() {
    echo "FAILED: $*"
    tail -n 20 "$output"
    failures=$((failures + 1))
}
# run_case SUITE INIT USER WAY
run_case() {
    local name="$1 $2 $3 $4" init=$2 user=$3 way=$4 left state
    lower=$(root_of "$1" "$init" "$way")
    work=$folder/case
    rm -rf "$work"
    mkdir -p "$work"/{upper,work,root,case}
    chmod 755 "$folder" "$work"
    chmod 777 "$work/case"
    cp "$here/inside_root.sh" "$work/case/inside"
    cp "$here/run_notebook.py" "$folder/join.ipynb" "$work/case/"
    printf '%s\n' "url=$url" "way=$way" "key=$key" >"$work/case/settings"
    group=''
    if [[ $init == systemd ]]; then
        group=$cgroups/dedloc-join-$$
        mkdir -p "$group"
    fi
    output=$work/case/said
    begin_case "$init" "$user"
    await 300 "$name" has_result
    end_case
    [[ -s $work/case/status ]] || { output=$work/console; fails "$name does not begin"; return; }
    [[ $(<"$work/case/status") == 0 ]] || { fails "$name"; return; }
    left=$(cd "$work/upper" && find . -type f -newer ../case/begin -printf '/%P\n')
    left=$(grep -vxE "$not_ours" <<<"$left" || true)
    [[ -z $left ]] || { fails "$name left $left"; return; }
    if [[ -n $pages && $way == notebook ]]; then
        mkdir -p "$pages"
        cp "$work/case/executed.ipynb.html" "$pages/${name// /-}.html"
    fi
    state=$(cat "$work/case/systemd" 2>/dev/null || true)
    name+=${state:+ ($state)}
    [[ ! -e $work/case/sentences ]] || sed "s/^/$name: /" "$work/case/sentences"
    [[ ! -e $work/case/counted ]] \
        || echo "$name: first counted sample after $(<"$work/case/counted") s"
    [[ ! -e $work/case/left ]] || echo "$name: left in $(paste -sd ' ' "$work/case/left") s"
}
for case in "${cases[@]}"; do
    if [[ $case == *" systemd "* && -z $cgroups ]]; then
        echo "$case: skipped, because this machine has no cgroup2 for systemd"
        continue
    fi
    # shellcheck disable=SC2086 # four words
    run_case $case
done
[[ $failures == 0 ]] || exit 1
echo "joining in bare roots: passed"
