// A ticket file is one line: the encoded ticket in hex digits. Trailing newlines are ignored, and a
// file that is much longer than a ticket is not read.
#include "peer/tool/files.hpp"

#include <fmt/format.h>

#include <array>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::tool {
namespace {

/// The text of a file without newlines at its end. Errors: InputError.
std::string read_line(const std::filesystem::path& path, std::size_t limit) {
    std::string text = platform::read_text(path, limit);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace

formats::SignedTicket read_ticket(const std::filesystem::path& path) {
    Buffer bytes(wire::kTicketBytes);
    const bool is_hex = from_hex(read_line(path, 4 * wire::kTicketBytes), bytes);
    const auto ticket = is_hex ? formats::decode_ticket(bytes) : std::nullopt;
    if (!ticket) throw InputError(fmt::format("{} holds no ticket", path.string()));
    return *ticket;
}

void write_ticket(const std::filesystem::path& path, const formats::SignedTicket& ticket) {
    platform::replace_file(path, to_hex(formats::encode(ticket)) + "\n");
}

formats::RunFile read_run(const std::filesystem::path& path) {
    return formats::parse_run_file(platform::read_text(path, formats::kMaxRunFileBytes));
}

}  // namespace dedloc::tool
