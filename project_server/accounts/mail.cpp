// deliver() checks both addresses, formats the message once and gives it to libcurl or to sendmail.
// Sendmail reads it from a file in memory and is killed with its children after the time limit.
// Refusals are told from failures that may pass: a reply of 5xx counts as a refusal only when it
// concerns this message, and of sendmail's statuses only three do. Addresses are removed from
// sendmail's words before these become a sentence.
#include "project_server/accounts/mail.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/utc_text.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/memory_file.hpp"
#include "peer/platform/process.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/database/database.hpp"
#include "project_server/email_address.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxCredentials = 4'096;

bool is_plain(const std::string& text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7F; });
}

void check_address(const std::string& address) {
    if (!is_mail_address(address)) throw InputError("a text is no address for e-mail");
}

/// A header's text: UTF-8 in the form of RFC 2047 unless it is plain ASCII.
std::string header(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    if (is_plain(text)) return text;
    return fmt::format("=?UTF-8?B?{}?=", to_base64(bytes_of(text)));
}

/// The name beside an address: quoted, but for the form of RFC 2047, which must not be.
std::string display_name(const std::string& name) {
    const std::string text = header(name);
    if (!is_plain(name)) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

/// The unread rest of a message, for libcurl.
std::size_t read_more(char* buffer, std::size_t size, std::size_t count, void* rest) {
    auto& text = *static_cast<std::string_view*>(rest);
    const std::size_t taken = std::min(size * count, text.size());
    std::memcpy(buffer, text.data(), taken);
    text.remove_prefix(taken);
    return taken;
}

void deliver_by_relay(const MailSettings& settings, const std::string& to,
                      const std::string& text) {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl{curl_easy_init(),
                                                                   &curl_easy_cleanup};
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> recipients{
        curl_slist_append(nullptr, to.c_str()), &curl_slist_free_all};
    if (!curl || !recipients) throw IoError("cannot send e-mail: out of memory");
    std::string_view rest = text;
    std::array<char, CURL_ERROR_SIZE> fault{};
    const auto set = [&](auto option, auto value) { curl_easy_setopt(curl.get(), option, value); };
    set(CURLOPT_URL, settings.relay.c_str());
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    set(CURLOPT_MAIL_FROM, settings.from.c_str());
    set(CURLOPT_MAIL_RCPT, recipients.get());
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &read_more);
    set(CURLOPT_READDATA, &rest);
    set(CURLOPT_ERRORBUFFER, fault.data());
    set(CURLOPT_TIMEOUT, static_cast<long>(settings.time_limit.count()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USE_SSL, CURLUSESSL_TRY);
    if (!settings.credentials.empty()) {
        std::string pair = platform::read_text(settings.credentials, kMaxCredentials);
        pair.erase(std::min(pair.find_first_of("\r\n"), pair.size()));
        set(CURLOPT_USERPWD, pair.c_str());  // libcurl copies it
        set(CURLOPT_USE_SSL, CURLUSESSL_ALL);
    }
    const CURLcode code = curl_easy_perform(curl.get());
    if (code == CURLE_OK) return;
    const std::string sentence =
        fmt::format("the relay {} does not take e-mail: {}", settings.relay,
                    fault[0] != 0 ? fault.data() : curl_easy_strerror(code));
    long answer = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer);
    // Permanent, and said of this message: not of the greeting or of the password.
    const bool is_of_message = code == CURLE_SEND_ERROR || rest.size() < text.size();
    if (answer >= 500 && is_of_message) throw MailRefused(sentence);
    throw IoError(sentence);
}

/// Runs a program to its end and returns its exit status; nothing if it took too long, and then it
/// and its children are ended.
std::optional<int> status_within(std::chrono::seconds limit, const platform::Command& command,
                                 const platform::SpawnOptions& options) {
    constexpr std::chrono::milliseconds kLook{20};
    const auto until = std::chrono::steady_clock::now() + limit;
    const pid_t child = platform::spawn(command, options);
    for (;;) {
        if (const auto status = platform::poll_child(child)) return status;
        if (std::chrono::steady_clock::now() >= until) break;
        std::this_thread::sleep_for(kLook);
    }
    kill(-child, SIGKILL);
    platform::wait_for_child(child);
    return std::nullopt;
}

/// What sendmail says of a failure, without the address, which no log shall have.
std::string reason_of(const platform::MemoryFile& words, const std::string& to, int status) {
    std::string reason = platform::failure_in(words.path());
    for (auto at = reason.find(to); at != std::string::npos; at = reason.find(to)) {
        reason.replace(at, to.size(), "the address");
    }
    return reason.empty() ? fmt::format("status {}", status) : reason;
}

void deliver_by_sendmail(const MailSettings& settings, const std::string& to,
                         const std::string& text) {
    const platform::MemoryFile message{text};
    const platform::MemoryFile words;
    const auto status = status_within(
        settings.time_limit, {settings.sendmail.string(), "-i", "-f", settings.from, "--", to},
        {.output = words.path(), .standard_input = message.descriptor()});
    if (!status) {
        throw IoError(fmt::format("{} has not ended within {} s", settings.sendmail.string(),
                                  settings.time_limit.count()));
    }
    if (*status == 0) return;
    const std::string sentence =
        fmt::format("{} has failed: {}", settings.sendmail.string(), reason_of(words, to, *status));
    constexpr int kWrongData = 65;  // EX_DATAERR, EX_NOUSER and EX_NOHOST of sysexits.h
    constexpr int kNoUser = 67;
    constexpr int kNoHost = 68;
    for (const int permanent : {kWrongData, kNoUser, kNoHost}) {
        if (*status == permanent) throw MailRefused(sentence);
    }
    throw IoError(sentence);
}

}  // namespace

std::string mail_text(const MailSettings& settings, const MailMessage& message, double now) {
    const auto domain = settings.from.substr(settings.from.find('@') + 1);
    std::string text = fmt::format(
        "Date: {} +0000\r\nFrom: {} <{}>\r\nTo: <{}>\r\nSubject: {}\r\n"
        "Message-ID: <{}@{}>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Transfer-Encoding: 8bit\r\nAuto-Submitted: auto-generated\r\n\r\n",
        utc_text(static_cast<std::int64_t>(now), kMailDate), display_name(settings.sender_name),
        settings.from, message.to, header(message.subject), random_token().substr(0, 32), domain);
    for (const char c : message.text) {
        if (c == '\n') text += '\r';
        text += c;
    }
    return text;
}

void deliver(const MailSettings& settings, const MailMessage& message) {
    check_address(settings.from);
    check_address(message.to);
    std::string text = mail_text(settings, message, unix_now());
    if (!settings.relay.empty()) return deliver_by_relay(settings, message.to, text);
    std::erase(text, '\r');  // sendmail reads lines of this system
    deliver_by_sendmail(settings, message.to, text);
}

}  // namespace dedloc::server
