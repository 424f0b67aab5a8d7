#include "project_server/accounts/account_request.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "peer/base/bytes.hpp"
#include "peer/base/markup.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

// BOINC's error_numbers.h, which clients know.
constexpr int kBadEmailAddress = -205;
constexpr int kBadPassword = -206;
constexpr int kBadUserName = -188;
constexpr int kNotUnique = -137;

}  // namespace

std::string account_error(int number, std::string_view sentence) {
    return fmt::format(
        "<error>\n    <error_num>{}</error_num>\n    <error_msg>{}</error_msg>\n</error>\n", number,
        escape_markup(sentence));
}

bool is_wrong_password(std::string_view reply) {
    const auto error = find_element(reply, "error");
    const auto number = error ? find_element(error->body, "error_num") : std::nullopt;
    const auto value = number ? integer_value(number->body) : 0;
    return value == kBadPassword || value == kNotUnique;
}

AccountRequest cleaned(const AccountRequest& request) {
    return {.email = clean_email(request.email),
            .password_hash = request.password_hash,
            .name = clean_text(request.name, kMaxAccountName),
            .invitation = request.invitation};
}

std::optional<std::string> hash_fault(const std::string& password_hash) {
    std::array<std::byte, 16> ignored{};
    if (from_hex(password_hash, ignored)) return std::nullopt;
    return account_error(kBadPassword, "The password hash is not valid.");
}

std::optional<std::string> fault_of(const AccountRequest& request) {
    if (const auto fault = email_fault(request.email)) {
        return account_error(kBadEmailAddress, *fault);
    }
    if (request.name.empty()) return account_error(kBadUserName, "A user name is needed.");
    return hash_fault(request.password_hash);
}

}  // namespace dedloc::server
