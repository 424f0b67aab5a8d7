// Archives that were not written by this program, or not left as they were.
#include "project_server/cli/archive.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;  // names and contents

void ignore(std::uint64_t) {}

struct World {
    TemporaryDirectory folder;
    fs::path file = folder.path() / "archive";

    void write(const Files& files) const {
        fs::remove(file);
        ArchiveWriter writer{file, ignore};
        for (const auto& [name, text] : files) writer.add_text(name, text);
        writer.finish();
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
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, const std::string& field) {
        header.replace(at, field.size(), field);
    };
    put(0, "a");
    put(100, "0000600");
    put(124, "00000000001");
    put(136, "00000000000");
    put(148, "        ");
    put(156, "S");
    put(257, "ustar  ");
    put(386, "77777777776");  // offset of the first piece
    put(398, "00000000001");  // its length
    put(483, "77777777777");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, fmt::format("{:06o}", sum));
    header[154] = '\0';
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
        platform::replace_file(world.file, damaged);
        Files found = files;
        try {
            found = world.read();
        } catch (const InputError&) {
            // Noticed.
        }
        CHECK(found == files);
        platform::replace_file(world.file, whole.substr(0, i));
        CHECK_THROWS_AS(world.read(), InputError);
    }
}

}  // namespace
}  // namespace dedloc::cli
