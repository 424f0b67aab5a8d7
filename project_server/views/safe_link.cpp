#include "project_server/views/safe_link.hpp"

#include "peer/base/text.hpp"

namespace dedloc::server {

std::string safe_link(std::string_view url) {
    for (const char c : url) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte == 0x7F || std::string_view{"\"'<>`\\"}.find(c) != url.npos) {
            return {};
        }
    }
    return has_web_scheme(url) ? std::string{url} : std::string{};
}

}  // namespace dedloc::server
