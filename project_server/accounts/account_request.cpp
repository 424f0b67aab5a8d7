#include "project_server/accounts/account_request.hpp"

#include <fmt/format.h>

#include <algorithm>
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

bool is_password_hash(const std::string& text) {
    std::array<std::byte, 16> ignored{};
    return from_hex(text, ignored);
}

bool is_email(const std::string& text) {
    const auto at = text.find('@');
    return at != std::string::npos && at > 0 && at + 1 < text.size() && text.size() <= kMaxEmail &&
           text.find_first_of(" \t\r\n<>\"'&") == std::string::npos;
}

}  // namespace

std::string account_error(int number, std::string_view sentence) {
    return fmt::format(
        "<error>\n    <error_num>{}</error_num>\n    <error_msg>{}</error_msg>\n</error>\n", number,
        escape_markup(sentence));
}

bool has_account_key(std::string_view reply) {
    const auto account = find_element(reply, "account_out");
    return account && find_element(account->body, "authenticator");
}

bool is_wrong_password(std::string_view reply) {
    const auto error = find_element(reply, "error");
    const auto number = error ? find_element(error->body, "error_num") : std::nullopt;
    return number && integer_value(number->body) == kBadPassword;
}

std::string clean_email(const std::string& email) {
    std::string text = clean_text(email);
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

AccountRequest cleaned(const AccountRequest& request) {
    return {.email = clean_email(request.email),
            .password_hash = request.password_hash,
            .name = clean_text(request.name, kMaxAccountName)};
}

std::optional<std::string> fault_of(const AccountRequest& request) {
    if (!is_email(request.email)) {
        return account_error(kBadEmailAddress, "The e-mail address is not valid.");
    }
    if (request.name.empty()) return account_error(kBadUserName, "A user name is needed.");
    if (!is_password_hash(request.password_hash)) {
        return account_error(kBadPassword, "The password hash is not valid.");
    }
    return std::nullopt;
}

}  // namespace dedloc::server
