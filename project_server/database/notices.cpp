#include "project_server/database/notices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"

namespace dedloc::server {
namespace {

/// A client that reads these words in a message asks less often, as if its request were early.
constexpr const char* kTooRecent = "too recent";

void check_notice(const std::string& text) {
    if (text.empty()) throw InputError("a notice needs a text");
    if (text.size() > kMaxNotice) {
        throw InputError(
            fmt::format("a notice has at most {} bytes, not {}", kMaxNotice, text.size()));
    }
    if (valid_text(text) != text || printable_text(text) != text) {
        throw InputError("a notice is one line of UTF-8 without control characters");
    }
    if (text.find(kTooRecent) != std::string::npos) {
        throw InputError(
            fmt::format("a notice must not say \"{}\": BOINC's clients then wait as if they had "
                        "asked too early",
                        kTooRecent));
    }
}

}  // namespace

int send_notice(Database& database, const std::vector<std::int64_t>& hosts, const std::string& text,
                double now) {
    check_notice(text);
    const std::string xml =
        fmt::format("<message priority=\"notice\">{}</message>\n", escape_markup(text));
    std::uint64_t queued = 0;
    in_transaction(database, [&] {
        queued = 0;
        for (const std::int64_t host : hosts) {
            queued += database.execute(
                "insert into msg_to_host (create_time, hostid, variety, handled, xml) select ?, "
                "h.id, ?, 0, ? from host h where h.id = ? and not exists (select 1 from "
                "msg_to_host "
                "m where m.hostid = h.id and m.handled = 0 and m.variety = ? and m.xml = ?)",
                {static_cast<std::int64_t>(now), kNoticeVariety, xml, host, kNoticeVariety, xml});
        }
    });
    return static_cast<int>(queued);
}

}  // namespace dedloc::server
