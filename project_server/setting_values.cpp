// check_settings() tests fields that depend on each other, in this order: URL, certificate and
// scheme, redirection, paths, mail, addresses, peers; the first contradiction is the error. Texts
// that are written into nginx.conf without quotes must not have any character that is special
// there; paths are quoted there, so only a $ and unprintable characters are refused.
#include "project_server/setting_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/networks.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/email_address.hpp"
#include "project_server/url.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxHost = wire::kMaxHostBytes;  // run files refuse a longer one

/// What must not appear in a text that is written into a configuration file.
constexpr std::string_view kUnsafe = "\"'\\$;{}\n\r\t ";

/// The computer itself, by address or by name.
bool is_local_host(const std::string& host) {
    return host == "localhost" || platform::is_loopback_host(host);
}

void check_url(const std::string& text) {
    if (!has_web_scheme(text)) {
        throw InputError(
            fmt::format("the URL \"{}\" begins neither with http:// nor https://", text));
    }
    const auto url = parse_url(text);
    // Clients compare the text: it is as parsed, without anything that the parser ignores.
    if (!url || text != url->origin() + "/") {
        throw InputError(fmt::format(
            "the URL \"{}\" is not SCHEME://HOST/ or SCHEME://HOST:PORT/ with nothing behind{}",
            text, url ? "" : ": " + url.reason()));
    }
    if (!is_made_of_letters(url->host, "-.") || url->host.size() > kMaxHost) {
        throw InputError(fmt::format(
            "the host in the URL \"{}\" is neither a name of at most {} characters nor an IPv4 "
            "address",
            text, kMaxHost));
    }
    if (url->port == 0) throw InputError("the URL's port is 0");
}

void check_safe(const std::string& text, const char* what) {
    if (text.find_first_of(kUnsafe) != std::string::npos) {
        throw InputError(fmt::format(
            "the {} \"{}\" has a blank, a quote or another character that nginx would not take as "
            "it is",
            what, text));
    }
}

/// A path in a word with quotes of nginx.conf: nginx takes a $ as the beginning of a variable.
void check_path_for_nginx(const std::filesystem::path& path) {
    const std::string& text = path.native();
    if (text.find('$') == std::string::npos && printable_text(valid_text(text)) == text) return;
    throw InputError(fmt::format(
        "the path \"{}\" has a $, a control character or bytes that are not UTF-8, which nginx "
        "or dedloc.json would not take as they are",
        printable_text(valid_text(text))));
}

void check_mail(const Settings& settings) {
    check_safe(settings.mail_from, "mail_from");
    check_safe(settings.mail_relay, "mail_relay");
    if (!settings.mail_from.empty() && !is_mail_address(settings.mail_from)) {
        throw InputError(
            fmt::format("mail_from \"{}\" is not an e-mail address", settings.mail_from));
    }
    const bool is_relay =
        settings.mail_relay.starts_with("smtp://") || settings.mail_relay.starts_with("smtps://");
    if (!settings.mail_relay.empty() && !is_relay) {
        throw InputError(fmt::format("mail_relay \"{}\" begins neither with smtp:// nor smtps://",
                                     settings.mail_relay));
    }
    if (settings.mail_from.empty() && !settings.mail_relay.empty()) {
        throw InputError("mail_relay needs mail_from, the sender's address");
    }
}

}  // namespace

std::string Settings::host() const {
    const auto parsed = parse_url(url);
    return parsed ? parsed->host : std::string{};
}

bool Settings::is_loopback() const {
    const auto is_local = [](const platform::ListenAddress& address) {
        return is_local_host(address.host);
    };
    return std::ranges::all_of(listen, is_local) && std::ranges::all_of(redirect, is_local) &&
           is_local_host(peer_listen) && proxies.empty();
}

void check_settings(const Settings& settings) {
    check_url(settings.url);
    if (settings.listen.empty()) throw InputError("the project listens on no address");
    if (settings.certificate.empty() != settings.certificate_key.empty()) {
        throw InputError("a certificate and its key are needed together");
    }
    const bool has_tls = !settings.certificate.empty();
    if (has_tls && !settings.is_https()) {
        throw InputError(
            fmt::format("there is a certificate, but the URL {} is not https", settings.url));
    }
    if (settings.is_https() && !has_tls && settings.proxies.empty()) {
        throw InputError(fmt::format(
            "the URL {} is https: name a certificate, or the proxy in front that has one",
            settings.url));
    }
    if (!has_tls && !settings.redirect.empty()) {
        throw InputError("only a project with a certificate redirects plain HTTP");
    }
    if (!settings.acme_webroot.empty() && settings.redirect.empty()) {
        throw InputError("ACME challenges come over plain HTTP: name an address for it");
    }
    check_path_for_nginx(settings.certificate);
    check_path_for_nginx(settings.certificate_key);
    check_path_for_nginx(settings.acme_webroot);
    for (const std::string& proxy : settings.proxies) check_safe(proxy, "proxy");
    check_mail(settings);
    for (const auto* const addresses : {&settings.listen, &settings.redirect}) {
        for (const auto& address : *addresses) check_safe(address.host, "address");
    }
    const bool is_local = is_local_host(settings.host());
    if (!is_local && is_local_host(settings.peer_listen)) {
        throw InputError(
            fmt::format("members cannot dial {} on {}: name the address that backbones listen on",
                        settings.host(), settings.peer_listen));
    }
}

}  // namespace dedloc::server
