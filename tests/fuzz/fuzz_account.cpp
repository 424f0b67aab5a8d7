// What clients and browsers send about accounts: requests, forms, and the header with cookies.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/markup.hpp"
#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/invitation_code.hpp"
#include "project_server/http/form.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

/// A code is read as one of its own form, and that form as the same code.
void check_invitation(std::string_view typed) {
    const auto symbols = server::read_invitation_code(typed);
    if (!symbols) return;
    DEDLOC_CHECK(typed.size() <= server::kMaxTypedInvitation, "a code keeps its limit");
    DEDLOC_CHECK(symbols->size() == server::kInvitationSymbols, "a code has 16 symbols");
    DEDLOC_CHECK(symbols->find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ") == symbols->npos,
                 "a code has no other symbols", *symbols);
    const std::string written = server::write_invitation_code(*symbols);
    DEDLOC_CHECK(server::read_invitation_code(written) == symbols, "a code is read as written",
                 written);
}

/// Four lines: the e-mail address, the hash, the name and the invitation code.
void check_request(std::string_view rest) {
    std::array<std::string, 4> lines;
    for (std::string& line : lines) {
        const std::size_t end = rest.find('\n');
        line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    const server::AccountRequest request = server::cleaned(
        {.email = lines[0], .password_hash = lines[1], .name = lines[2], .invitation = lines[3]});
    check_invitation(request.invitation);
    DEDLOC_CHECK(server::clean_email(request.email) == request.email, "clean stays clean");
    DEDLOC_CHECK(valid_text(request.email) == request.email, "an e-mail is valid text");
    DEDLOC_CHECK(valid_text(request.name) == request.name, "a name is valid text");
    DEDLOC_CHECK(request.name.size() <= server::kMaxAccountName, "a name keeps its limit");
    if (const auto fault = server::fault_of(request)) {
        const auto error = server::find_element(*fault, "error");
        DEDLOC_CHECK(error && server::find_element(error->body, "error_num"), "a fault is told");
        return;
    }
    DEDLOC_CHECK(!request.name.empty() && request.email.size() <= server::kMaxEmail,
                 "an account has a name and an e-mail address");
    DEDLOC_CHECK(request.email.find_first_of("<>\"& \t\r\n") == std::string::npos,
                 "an e-mail address is no markup", request.email);
    DEDLOC_CHECK(server::is_mail_address(request.email), "the mailer delivers to an account",
                 request.email);
    DEDLOC_CHECK(request.password_hash.size() == 32, "a hash is an MD5");
}

void check_cookie(std::string_view header) {
    const std::string cookie = server::cookie_value(header, "dedloc_session");
    DEDLOC_CHECK(cookie.empty() || header.find(cookie) != std::string_view::npos,
                 "a cookie's value is a part of the header");
    DEDLOC_CHECK(cookie.find(';') == std::string::npos, "a cookie ends at a semicolon");
}

void check_form(std::string_view body) {
    const auto form = server::Form::parse(body);
    if (!form) return;
    DEDLOC_CHECK(body.size() <= server::kMaxFormBytes, "a form keeps its limit");
    for (const std::string_view name : {"name", "next", "form_token", ""}) {
        const std::string value = form->value(name);
        // A byte of a code page becomes at most three of UTF-8.
        DEDLOC_CHECK(value.size() <= 3 * body.size(), "decoding hardly lengthens");
        DEDLOC_CHECK(valid_text(value) == value, "a value is valid text");
        DEDLOC_CHECK(value.find('\r') == std::string::npos, "a value has no carriage return");
    }
}

}  // namespace

void fuzz_account(std::span<const std::byte> input) {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    check_invitation(text);
    check_request(text);
    check_cookie(text);
    check_form(text);
}

}  // namespace dedloc::fuzz
