#!/usr/bin/env bash
# The functions that fetch and unpack the demo's pictures, with an apt-get that reaches nothing and
# with a small package in place of Debian's.
#
# Usage: stamp_pictures_test.sh
set -Eeuo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/checks.sh"
source "$here/../../project_server/stamp_pictures.sh"

# --- fetching ---------------------------------------------------------------------------------

cache=$folder/cache
mkdir "$folder/bin"
cat >"$folder/bin/apt-get" <<'APT'
#!/usr/bin/env bash
[[ "$*" == "download tuxpaint-stamps-default" ]] || exit 9
[[ ! -e $PACKAGE ]] || { cp "$PACKAGE" tuxpaint-stamps-default_1_all.deb; exit 0; }
echo "W: a warning" >&2
echo "E: Failed to fetch http://example.org/stamps.deb  Could not connect" >&2
exit 100
APT
chmod +x "$folder/bin/apt-get"
export PATH=$folder/bin:$PATH PACKAGE=$folder/none

! find_stamps_package "$cache" || fail_test "a package was found where there is no folder"
says 1 "^error: cannot fetch $stamps_package: Failed to fetch .* Could not connect; install it, or \
name a folder with pictures: --images DIR$" fetch_stamps_package "$cache"
[[ -z $(ls -A "$cache") ]] || fail_test "a failed download left: $(ls -A "$cache")"
! find_stamps_package "$cache" || fail_test "a package was found after a failed download"
touch "$folder/file"
says 1 "^mkdir: .*file" fetch_stamps_package "$folder/file/cache"

# --- a package, with sounds and drawings beside its pictures --------------------------------------

tree=$folder/tree
mkdir -p "$tree/DEBIAN" "$tree/$stamps_folder/animals/birds" "$tree/$stamps_folder/food" \
    "$tree/usr/share/doc/$stamps_package"
printf '%s\n' "Package: $stamps_package" "Version: 1" "Architecture: all" \
    "Maintainer: a <a@b.org>" "Description: pictures" >"$tree/DEBIAN/control"
echo bird >"$tree/$stamps_folder/animals/birds/a bird.png"
echo apple >"$tree/$stamps_folder/food/apple.png"
echo sound >"$tree/$stamps_folder/food/apple.ogg"
echo drawing >"$tree/$stamps_folder/food/pear.svg"
echo "License: GPL-2" >"$tree/usr/share/doc/$stamps_package/copyright"
dpkg-deb --root-owner-group -b "$tree" "$folder/stamps.deb" >/dev/null

PACKAGE=$folder/stamps.deb fetch_stamps_package "$cache"
find_stamps_package "$cache" || fail_test "no package after a download"
[[ $stamps_file == "$cache/${stamps_package}_1_all.deb" ]] || fail_test "found $stamps_file"
[[ $(ls -A "$cache") == "${stamps_file##*/}" ]] || fail_test "left beside it: $(ls -A "$cache")"
unpack_stamps "$stamps_file" "$folder/pictures"
found=$(cd "$folder/pictures" && find . -type f | sort | paste -sd ,)
[[ $found == "./.copyright,./animals/birds/a bird.png,./food/apple.png" ]] \
    || fail_test "unpacked: $found"
[[ $(<"$folder/pictures/.copyright") == "License: GPL-2" ]] || fail_test "another licence"

head -c 200 "$stamps_file" >"$folder/cut.deb"
output=$folder/said
! unpack_stamps "$folder/cut.deb" "$folder/cut" 2>"$output" \
    || fail_test "a package that is cut off was unpacked"
echo "stamp_pictures_test: all checks passed"
