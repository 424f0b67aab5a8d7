# The pictures of Debian's package tuxpaint-stamps-default, for scripts. To be sourced. Sets
# `stamps_package`, `stamps_folder` (where the installed package has them, without the first /) and
# `stamps_note`, the licence in a sentence.
stamps_package=tuxpaint-stamps-default
stamps_folder=usr/share/tuxpaint/stamps
stamps_note="the stamps of Tux Paint, (C) Bill Kendrick and others, under the GPL 2"

# find_stamps_package FOLDER: sets `stamps_file` to the newest package in FOLDER; fails if none is.
find_stamps_package() {
    local files=("$1/${stamps_package}_"*.deb)
    stamps_file=${files[-1]}
    [[ -s $stamps_file ]]
}

# fetch_stamps_package FOLDER: puts the package into FOLDER when all of it has arrived. It needs no
# root, and installs nothing. Prints one sentence if that fails.
fetch_stamps_package() {
    local made why
    mkdir -p -- "$1" && made=$(mktemp -d "$1/$stamps_package.XXXXXX") || return 1
    why=$(cd "$made" && apt-get download "$stamps_package" 2>&1 >/dev/null) || {
        rm -rf -- "$made"
        why=$(sed -n 's/^E: //p' <<<"$why" | head -n 1)
        why="cannot fetch $stamps_package: ${why:-apt-get download failed}"
        echo "error: $why; install it, or name a folder with pictures: --images DIR" >&2
        return 1
    }
    mv -- "$made"/*.deb "$1"
    rm -rf -- "$made"
}

# unpack_stamps FILE FOLDER: unpacks the pictures of the package, with the licence beside them, into
# FOLDER, a sub-folder for each class.
unpack_stamps() {
    mkdir -p -- "$2"
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards \
        --transform "s:^\./$stamps_folder/::" --transform 's:^\./usr/share/doc/.*/:.:' \
        "./$stamps_folder/*.png" "./usr/share/doc/$stamps_package/copyright"
}
