// Archives that were not written by this program, or not left as they were.
#include "project_server/project/archive.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;  // names and contents

void ignore(std::uint64_t) {}

/// A header of tar with these fields by offset, and its checksum.
std::string tar_header(const std::map<std::size_t, std::string>& fields) {
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, const std::string& field) {
        header.replace(at, field.size(), field);
    };
    for (const auto& [at, field] : fields) put(at, field);
    put(100, "0000600");
    put(136, "00000000000");
    put(148, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, fmt::format("{:06o}", sum) + '\0');
    return header;
}

/// A file in an archive that is not compressed.
std::string tar_file(const std::string& name, const std::string& text) {
    return tar_header({{0, name},
                       {124, fmt::format("{:011o}", text.size())},
                       {156, "0"},
                       {257, "ustar"},
                       {263, "00"}}) +
           text + std::string((512 - text.size() % 512) % 512, '\0');
}

struct World {
    TemporaryDirectory folder;
    fs::path file = folder.path() / "archive";

    void write(const Files& files) const {
        fs::remove(file);
        ArchiveWriter writer{file, 1'800'000'000, ignore};
        for (const auto& [name, text] : files) writer.add_text(name, text);
        writer.finish();
    }
    /// The files of this archive; nothing if it is refused.
    std::optional<Files> read_damaged(const std::string& bytes) const {
        platform::replace_file(file, bytes);
        try {
            return read();
        } catch (const InputError&) {
            return std::nullopt;
        }
    }
    Files read() const {
        Files files;
        ArchiveReader reader{file, ignore};
        while (const auto entry = reader.next()) {
            files.emplace_back(entry->name, reader.read_text(1'000));
        }
        return files;
    }
};

TEST_CASE("an archive is read as it was written", "[server]") {
    const World world;
    const Files files{{"a", "one"}, {"b/c.d", std::string(999, '\0')}, {"empty", ""}};
    world.write(files);
    CHECK(world.read() == files);
}

TEST_CASE("names that could leave the folder, or name another's file, are refused", "[server]") {
    const World world;
    for (const char* const name : {"/etc/passwd", "../up", "a/../../up", "a/..", ".", "./a",
                                   "a/./b", "a//b", "a/", "a\nb", "a\\b"}) {
        INFO(name);
        world.write({{"a/b", "first"}, {name, "second"}});
        CHECK_THROWS_AS(world.read(), InputError);
    }
    world.write({{"a", "first"}, {"a", "second"}});
    CHECK_THROWS_WITH(world.read(), Catch::Matchers::Contains("twice"));
    world.write({{"long", std::string(1'001, 'x')}});
    CHECK_THROWS_WITH(world.read(), Catch::Matchers::Contains("too long"));
}

TEST_CASE("a sparse file, of a few bytes and contents without end, is refused", "[server]") {
    // A header of GNU tar: one byte is stored, the last one of a file of 8 GiB - 1.
    const std::string header = tar_header({{0, "a"},
                                           {124, "00000000001"},
                                           {156, "S"},
                                           {257, "ustar  "},
                                           {386, "77777777776"},  // offset of the first piece
                                           {398, "00000000001"},  // its length
                                           {483, "77777777777"}});
    const World world;
    platform::replace_file(world.file, header + std::string(3 * 512, '\0'));
    CHECK_THROWS_WITH(world.read(), Catch::Matchers::Contains("no regular file"));
}

TEST_CASE("a damaged archive never gives other contents", "[server]") {
    const World world;
    const Files files{{"a", "one"}, {"b", std::string(300, 'x') + "two"}};
    world.write(files);
    const std::string whole = platform::read_text(world.file);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        CHECK(world.read_damaged(damaged).value_or(files) == files);
        platform::replace_file(world.file, whole.substr(0, i));
        CHECK_THROWS_AS(world.read(), InputError);
    }
}

TEST_CASE("a damaged archive never gives other names, also those in records without a checksum",
          "[server]") {
    const World world;
    const Files files{{"caf\xC3\xA9", "one"}, {std::string(60, 'x') + std::string(60, 'y'), "two"}};
    world.write(files);
    const std::string whole = platform::read_text(world.file);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        for (unsigned bit = 1; bit < 256; bit *= 2) {
            std::string damaged = whole;
            damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ bit);
            CHECK(world.read_damaged(damaged).value_or(files) == files);
        }
    }
}

TEST_CASE("digests of names and permissions are compared if there are any", "[server]") {
    const World world;
    const std::string digest = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";
    const Files files{{"a", "one\n"}};
    const auto with = [&](const std::string& line) {
        return tar_file("a", "one\n") + tar_file("SHA256SUMS", digest + "  a\n" + line) +
               std::string(1'024, '\0');
    };
    CHECK(world.read_damaged(with("")) == files);  // as earlier versions wrote it
    CHECK_FALSE(world.read_damaged(with("# entries " + digest + "\n")));
    CHECK_THROWS_WITH(world.read(), Catch::Matchers::Contains("names or permissions"));
}

}  // namespace
}  // namespace dedloc::project
