#include "project_server/views/safe_link.hpp"

namespace dedloc::server {

std::string safe_link(std::string_view url) {
    const bool is_web = url.starts_with("http://") || url.starts_with("https://");
    for (const char c : url) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte == 0x7F || std::string_view{"\"'<>`\\"}.find(c) != url.npos) {
            return {};
        }
    }
    return is_web ? std::string{url} : std::string{};
}

}  // namespace dedloc::server
