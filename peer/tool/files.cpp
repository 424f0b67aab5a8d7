#include "peer/tool/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "peer/base/error.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::tool {
namespace {

constexpr std::size_t kMaxKeyFileBytes = 256;

bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

/// Whether all of it is on the disk.
bool write_new(const std::filesystem::path& path, std::span<const std::byte> bytes, mode_t mode) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (file < 0) return false;
    const bool is_written = write_all(file, bytes) && ::fsync(file) == 0;
    return ::close(file) == 0 && is_written;
}

}  // namespace

Buffer read_file(const std::filesystem::path& path, std::size_t limit) {
    std::ifstream in(path, std::ios::binary);
    std::string text(limit + 1, '\0');
    if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || (in.fail() && !in.eof())) {
        throw InputError(fmt::format("{} cannot be read", path.string()));
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > limit) {
        throw InputError(fmt::format("{} has more than {} bytes", path.string(), limit));
    }
    const auto bytes = bytes_of(text);
    return {bytes.begin(), bytes.end()};
}

void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  bool is_secret) {
    std::filesystem::path temporary = path;
    temporary += ".new";
    const bool is_there = write_new(temporary, bytes, is_secret ? 0600 : 0644) &&
                          ::rename(temporary.c_str(), path.c_str()) == 0;
    if (!is_there) {
        throw IoError(
            fmt::format("{} could not be written: {}", path.string(), std::strerror(errno)));
    }
}

namespace {

/// A file of one line, without its end. Errors: InputError.
std::string read_line(const std::filesystem::path& path, std::size_t limit) {
    const Buffer bytes = read_file(path, limit);
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace

KeyPair key_in(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) {
        const KeyPair key = KeyPair::generate();
        replace_file(path, bytes_of(to_hex(key.seed()) + "\n"), /*is_secret=*/true);
        return key;
    }
    std::array<std::byte, 32> seed{};
    if (!from_hex(read_line(path, kMaxKeyFileBytes), seed))
        throw InputError(fmt::format("{} holds no key", path.string()));
    return KeyPair::from_seed(seed);
}

wire::SignedTicket read_ticket(const std::filesystem::path& path) {
    Buffer bytes(wire::kTicketBytes);
    const bool is_hex = from_hex(read_line(path, 4 * wire::kTicketBytes), bytes);
    const auto ticket = is_hex ? wire::decode_ticket(bytes) : std::nullopt;
    if (!ticket) throw InputError(fmt::format("{} holds no ticket", path.string()));
    return *ticket;
}

void write_ticket(const std::filesystem::path& path, const wire::SignedTicket& ticket) {
    replace_file(path, bytes_of(to_hex(wire::encode(ticket)) + "\n"));
}

wire::RunFile read_run(const std::filesystem::path& path) {
    const Buffer bytes = read_file(path, wire::kMaxRunFileBytes);
    return wire::parse_run_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace dedloc::tool
