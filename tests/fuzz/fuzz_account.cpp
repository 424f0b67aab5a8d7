// What a client asks of an account: three lines, the e-mail address, the hash and the name.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "project_server/accounts/account_request.hpp"
#include "project_server/scheduler/xml.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void run(std::span<const std::byte> input) {
    std::string_view rest{reinterpret_cast<const char*>(input.data()), input.size()};
    std::array<std::string, 3> lines;
    for (std::string& line : lines) {
        const std::size_t end = rest.find('\n');
        line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    const server::AccountRequest request =
        server::cleaned({.email = lines[0], .password_hash = lines[1], .name = lines[2]});
    DEDLOC_CHECK(server::clean_email(request.email) == request.email, "clean stays clean");
    DEDLOC_CHECK(server::valid_utf8(request.email) == request.email, "an e-mail is valid UTF-8");
    DEDLOC_CHECK(server::valid_utf8(request.name) == request.name, "a name is valid UTF-8");
    DEDLOC_CHECK(request.name.size() <= server::kMaxAccountName, "a name keeps its limit");
    if (const auto fault = server::fault_of(request)) {
        const auto error = server::find_element(*fault, "error");
        DEDLOC_CHECK(error && server::find_element(error->body, "error_num"), "a fault is told");
        return;
    }
    DEDLOC_CHECK(!request.name.empty() && request.email.size() <= server::kMaxEmail,
                 "an account has a name and an e-mail address");
    DEDLOC_CHECK(request.email.find_first_of("<>\"'& \t\r\n") == std::string::npos,
                 "an e-mail address is no markup", request.email);
    DEDLOC_CHECK(request.password_hash.size() == 32, "a hash is an MD5");
}

}  // namespace dedloc::fuzz
