#include "project_server/official/apache.hpp"

#include <fmt/format.h>

#include "peer/formats/enrolment.hpp"
#include "project_server/official/entries.hpp"
#include "project_server/url.hpp"

namespace dedloc::official {

std::string apache_configuration(const std::string& master_url, const std::string& gateway_host,
                                 std::uint16_t gateway_port) {
    return fmt::format(
        R"(# Written by dedloc install. Name it in an IncludeOptional line in the <VirtualHost> of
# the project, beside the .httpd.conf of make_project. It needs the modules proxy and proxy_http.
<Location "{path}dedloc/">
    ProxyPass "http://{host}:{port}{path}dedloc/" \
        connectiontimeout=5 timeout=60 disablereuse=On
    # The gateway takes a peer's address from what Apache appends to X-Forwarded-For.
    ProxyAddHeaders On
    LimitRequestBody {bytes}
    Require all granted
</Location>
)",
        fmt::arg("path", server::required_url(master_url, "<master_url>").folder() + "/"),
        fmt::arg("host", gateway_host), fmt::arg("port", gateway_port),
        fmt::arg("bytes", formats::kMaxMeasuredBytes));
}

std::string apache_line(const std::filesystem::path& project) {
    return fmt::format("IncludeOptional \"{}\"", (project / kApacheFile).string());
}

std::string apache_nothing() {
    return "# DeDLOC was taken out by dedloc install --remove. The line that names this file may "
           "go.\n";
}

}  // namespace dedloc::official
