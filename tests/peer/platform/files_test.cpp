#include "peer/platform/files.hpp"

#include <sys/stat.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/platform/file_writer.hpp"
#include "peer/platform/folder_lock.hpp"
#include "peer/platform/key_file.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/peer/platform/file_calls.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::platform {
namespace {

namespace fs = std::filesystem;
using Calls = std::vector<std::string>;

mode_t mode_of(const fs::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 0777;
}

TEST_CASE("a file that is written in pieces has them in order", "[platform]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "file";
    {
        FileWriter unfinished{path};
        unfinished.write(bytes_of("first"));
    }
    FileWriter writer{path};
    writer.write(bytes_of("one "));
    writer.write({});
    writer.write(bytes_of("two"));
    writer.finish();
    CHECK(read_text(path) == "one two");
    CHECK_THROWS_WITH(FileWriter{folder.path() / "none/file"}, Catch::Contains("cannot write"));
    FileWriter full{"/dev/full"};
    CHECK_THROWS_WITH(full.write(bytes_of("x")), Catch::Contains("No space left on device"));
}

TEST_CASE("replacing a file syncs the data, renames it and syncs the folder", "[platform]") {
    const TemporaryDirectory folder;
    const std::string path = folder.path() / "vote";
    take_file_calls();
    replace_file(path, std::string_view{"new"});
    CHECK(take_file_calls() == Calls{"sync " + path + ".tmp", "rename " + path + ".tmp " + path,
                                     "sync " + folder.path().string()});
    CHECK(read_text(path) == "new");
}

TEST_CASE("moving a finished file renames it and syncs the folder", "[platform]") {
    const TemporaryDirectory folder;
    const std::string from = folder.path() / "upload.unfinished";
    const std::string to = folder.path() / "upload";
    replace_file(from, std::string_view{"whole"});
    take_file_calls();
    sync_file(from);
    move_file(from, to);
    CHECK(take_file_calls() ==
          Calls{"sync " + from, "rename " + from + " " + to, "sync " + folder.path().string()});
    CHECK(read_text(to) == "whole");
    CHECK_THROWS_AS(move_file(from, to), IoError);
}

TEST_CASE("every append syncs the file, and its creation syncs the folder", "[platform]") {
    const TemporaryDirectory folder;
    const std::string path = folder.path() / "ledger";
    take_file_calls();
    DurableFile file(path, DurableFile::Mode::kAppend);
    CHECK(take_file_calls() == Calls{"sync " + folder.path().string()});
    file.append(bytes_of("one"));
    CHECK(take_file_calls() == Calls{"sync " + path});
}

TEST_CASE("a full disk leaves the old file and no temporary file", "[platform]") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "file";
    replace_file(path, std::string_view{"old"});
    {
        const FileSizeLimit full(8);
        CHECK_THROWS_WITH(replace_file(path, std::string_view{"much more than fits"}),
                          "cannot write " + path.string() + ": File too large");
    }
    CHECK(read_text(path) == "old");
    CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a failed append restores the former length", "[platform]") {
    const TemporaryDirectory folder;
    DurableFile file(folder.path() / "ledger", DurableFile::Mode::kAppend);
    file.append(bytes_of("12345"));
    {
        const FileSizeLimit full(8);
        CHECK_THROWS_AS(file.append(bytes_of("678901")), IoError);
    }
    CHECK(file.size() == 5);
    file.append(bytes_of("6"));
    CHECK(read_text(folder.path() / "ledger") == "123456");
}

TEST_CASE("a file written in pieces is their concatenation", "[platform]") {
    const TemporaryDirectory folder;
    const std::array pieces{bytes_of("head "), bytes_of(""), bytes_of("body")};
    replace_file(folder.path() / "file", std::span<const std::span<const std::byte>>{pieces});
    CHECK(read_text(folder.path() / "file") == "head body");
}

TEST_CASE("a missing file, a folder and a file that is too large are reported in one sentence",
          "[platform]") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "file";
    CHECK_THROWS_WITH(read_file(path, 10),
                      "cannot read " + path.string() + ": No such file or directory");
    CHECK_THROWS_AS(read_file(folder.path(), 10), InputError);
    CHECK_THROWS_AS(read_file(path, 10), InputError);
    replace_file(path, std::string_view{"0123456789"});
    CHECK(read_file(path, 10).size() == 10);
    CHECK_THROWS_WITH(read_file(path, 9), path.string() + " has more than 9 bytes");
    CHECK_THROWS_AS(replace_file(folder.path() / "absent/file", std::string_view{"x"}), IoError);
    CHECK_FALSE(read_text("/proc/self/status").empty());  // a file that reports no size
}

TEST_CASE("a key stays the same across restarts and only its owner can read it", "[platform]") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "peer.key";
    const KeyPair key = read_or_create_key(path);
    CHECK(read_or_create_key(path).public_key() == key.public_key());
    CHECK(read_key(path).public_key() == key.public_key());
    CHECK(mode_of(path) == 0600);
    for (const char* const end : {"", "\n", "\r\n", " \n\n"}) {
        replace_file(path, to_hex(key.seed()) + end);
        CHECK(read_key(path).public_key() == key.public_key());
    }
    replace_file(path, std::string_view{"short"});
    CHECK_THROWS_AS(read_or_create_key(path), InputError);
    fs::remove(path);
    CHECK_THROWS_AS(read_key(path), InputError);
}

TEST_CASE("only one process at a time can lock a folder", "[platform]") {
    const TemporaryDirectory folder;
    {
        const FolderLock lock(folder.path());
        CHECK_THROWS_WITH(FolderLock(folder.path()),
                          folder.path().string() + " is in use by another process");
    }
    {
        const FolderLock one(folder.path(), FolderLock::Sharing::kShared);
        const FolderLock other(folder.path(), FolderLock::Sharing::kShared);
        CHECK_THROWS_WITH(FolderLock(folder.path()), Catch::Contains("in use"));
    }
    const FolderLock again(folder.path());
    CHECK_THROWS_AS(FolderLock(folder.path(), FolderLock::Sharing::kShared), IoError);
    CHECK_THROWS_AS(FolderLock(folder.path() / "absent"), IoError);
}

}  // namespace
}  // namespace dedloc::platform
