#include "project_server/publishing/gzip_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMode = "wb6";  // zlib's usual effort: 9 takes twice the time for 1 % less

/// Whether all of `from` is now in `to`, compressed.
bool compress(const fs::path& from, const fs::path& to) {
    std::ifstream input{from, std::ios::binary};
    std::unique_ptr<gzFile_s, int (*)(gzFile)> output{gzopen(to.c_str(), kMode), gzclose};
    if (!input || !output) return false;
    std::array<char, 1 << 16> piece{};
    while (input.read(piece.data(), piece.size()), input.gcount() > 0) {
        const auto bytes = static_cast<unsigned>(input.gcount());
        if (gzwrite(output.get(), piece.data(), bytes) != input.gcount()) return false;
    }
    return input.eof() && gzclose(output.release()) == Z_OK;
}

}  // namespace

std::uintmax_t gzip_file(const fs::path& file) {
    const fs::path compressed = file.string() + ".gz";
    if (fs::exists(compressed)) return fs::file_size(compressed);
    const fs::path unfinished = compressed.string() + ".unfinished";
    if (!compress(file, unfinished)) {
        std::error_code ignored;
        fs::remove(unfinished, ignored);
        throw IoError(fmt::format("Cannot write {}: is there space?", compressed.string()));
    }
    platform::sync_file(unfinished);
    platform::move_file(unfinished, compressed);
    return fs::file_size(compressed);
}

bool is_whole_gzip(const fs::path& compressed) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> input{gzopen(compressed.c_str(), "rb"),
                                                           gzclose};
    if (!input) return false;
    std::array<char, 1 << 16> piece{};
    int bytes = 0;
    do {
        bytes = gzread(input.get(), piece.data(), piece.size());
    } while (bytes > 0);
    int error = Z_OK;  // that of a file that ends early is no error of gzread()
    gzerror(input.get(), &error);
    return bytes == 0 && error == Z_OK && gzdirect(input.get()) == 0;
}

}  // namespace dedloc::server
