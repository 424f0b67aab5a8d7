// Backups, which an administrator may have from anywhere. The first byte chooses: the rest is an
// archive; or it describes a change of one byte, then files (a length and a name, a length and
// contents), which are archived before the change.
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/project/archive.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::fuzz {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;  // contents by name

constexpr std::size_t kMaxText = 4'096;
constexpr std::time_t kTime = 1'800'000'000;  // an input gives the same archive at any time
constexpr std::uint64_t kMaxContents = std::uint64_t{4} << 20;  // a bomb is not of interest

/// The folder of archives and of their contents; emptied before each input.
class World {
  public:
    World() : file_(folder_.path() / "archive"), target_(folder_.path() / "target") {}

    /// No fsync: it would take longer than everything else.
    void write(std::string_view bytes) const {
        std::ofstream{file_, std::ios::binary | std::ios::trunc} << bytes;
    }
    void change(std::size_t where, std::byte by) const {
        std::string text = platform::read_text(file_);
        char& c = text[where % text.size()];
        c = static_cast<char>(static_cast<unsigned char>(c) ^ std::to_integer<unsigned>(by));
        write(text);
    }
    void archive(const Files& files) const {
        fs::remove(file_);
        project::ArchiveWriter writer{file_, kTime, [](std::uint64_t) {}};
        for (const auto& [name, text] : files) writer.add_text(name, text);
        writer.finish();
    }
    /// The files of an archive that is whole. Errors: InputError.
    Files read() const {
        Files files;
        std::uint64_t contents = 0;
        project::ArchiveReader reader{file_, [&](std::uint64_t bytes) {
                                          contents += bytes;
                                          if (contents > kMaxContents) throw InputError("too much");
                                      }};
        while (const auto entry = reader.next()) {
            const auto path = (target_ / entry->name).lexically_normal();
            DEDLOC_CHECK(path == target_ / entry->name, "a name is the path's", entry->name);
            DEDLOC_CHECK(path.string().starts_with(target_.string() + "/"), "in the folder",
                         entry->name);
            const std::string text = reader.read_text(kMaxText);
            DEDLOC_CHECK(text.size() <= kMaxText, "a text keeps its limit", text.size());
            DEDLOC_CHECK(text.size() == entry->bytes, "a size is true", entry->bytes);
            DEDLOC_CHECK(files.emplace(entry->name, text).second, "a file is there once");
        }
        return files;
    }

  private:
    const TemporaryDirectory folder_;
    const fs::path file_;
    const fs::path target_;
};

/// Takes a byte from the front, and as many as it says.
std::string_view take(std::string_view& rest) {
    if (rest.empty()) return {};
    const std::size_t length = static_cast<unsigned char>(rest.front());
    const auto piece = rest.substr(1, length);
    rest.remove_prefix(1 + piece.size());
    return piece;
}

/// The files of a whole archive; nothing if it is refused.
std::optional<Files> accepted(const World& world) {
    try {
        return world.read();
    } catch (const InputError&) {
        return std::nullopt;
    }
}

void check_written(const World& world, std::string_view rest) {
    const auto change = take(rest);
    Files files;
    while (!rest.empty() && files.size() < 8) {
        const std::string name{take(rest)};
        const auto text = take(rest);
        if (name.find('\0') != std::string::npos || name == project::kDigestsName) continue;
        files.emplace(name, text);
    }
    try {
        world.archive(files);
    } catch (const IoError&) {
        return;  // a name that libarchive does not write
    }
    const auto whole = accepted(world);
    DEDLOC_CHECK(!whole || *whole == files, "an archive is read as it was written");
    if (change.size() < 3) return;
    const auto byte = [&](std::size_t i) {
        return std::size_t{static_cast<unsigned char>(change[i])};
    };
    world.change(byte(0) * 256 + byte(1), static_cast<std::byte>(change[2]));
    const auto damaged = accepted(world);
    DEDLOC_CHECK(!damaged || *damaged == files, "a damaged archive never gives other files");
}

}  // namespace

void run(std::span<const std::byte> input) {
    static const World world;
    if (input.empty()) return;
    const std::string_view rest{reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1};
    if (std::to_integer<unsigned>(input[0]) % 2 == 0) {
        world.write(rest);
        const auto files = accepted(world);
        DEDLOC_CHECK(!files || accepted(world) == files, "an archive is read the same again");
        return;
    }
    check_written(world, rest);
}

}  // namespace dedloc::fuzz
