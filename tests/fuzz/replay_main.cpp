// Runs a fuzz target once for each file that is named, and each file in a folder that is named.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

void replay(dedloc::fuzz::Target target, const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>{file}, {});
    target(std::as_bytes(std::span{bytes}));
}

}  // namespace

int main(int count, char** arguments) {
    const dedloc::fuzz::Target target = dedloc::fuzz::target_of(arguments[0]);
    std::size_t files = 0;
    for (const std::filesystem::path path :
         std::span{arguments, static_cast<std::size_t>(count)}.subspan(1)) {
        if (std::filesystem::is_regular_file(path)) {
            replay(target, path);
            ++files;
        }
        if (!std::filesystem::is_directory(path)) continue;
        for (const auto& entry : std::filesystem::directory_iterator(path)) {
            // Named before it runs: an abort leaves the name as the last line.
            std::printf("%s\n", entry.path().c_str());
            std::fflush(stdout);
            replay(target, entry.path());
            ++files;
        }
    }
    if (files > 0) return 0;
    std::fprintf(stderr, "usage: %s FILE|FOLDER...; there is no such file\n", arguments[0]);
    return 2;
}
