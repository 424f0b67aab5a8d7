#include "project_server/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/accounts/email_address.hpp"
#include "project_server/json/value.hpp"
#include "project_server/official_settings.hpp"

namespace dedloc::server {
namespace {

using Addresses = std::vector<platform::ListenAddress>;
using formats::JsonFields;

constexpr const char* kFile = "dedloc.json";
constexpr const char* kOfficialFolder = "dedloc";
constexpr std::size_t kMaxSettingsBytes = 64 << 10;
constexpr std::size_t kMaxText = 4'096;
constexpr std::size_t kMaxEntries = 64;
constexpr std::size_t kMaxHost = wire::kMaxHostBytes;  // run files refuse a longer one
constexpr std::uint16_t kNoPort = 0;
constexpr std::uint16_t kMaxPort = 65'535;
constexpr int kMaxDays = 10'000;
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

/// What must not appear in a text that is written into a configuration file.
constexpr std::string_view kUnsafe = "\"'\\$;{}\n\r\t ";

std::uint16_t port_field(JsonFields& fields, const char* name, std::uint16_t least) {
    return static_cast<std::uint16_t>(fields.integer(name, least, kMaxPort));
}

std::string optional_text(JsonFields& fields, const char* name) {
    return fields.has(name) ? fields.text(name, kMaxText) : std::string{};
}

std::vector<std::string> texts_field(JsonFields& fields, const char* name) {
    std::vector<std::string> texts;
    if (!fields.has(name)) return texts;
    for (const auto& value : fields.array(name, 0, kMaxEntries).GetArray()) {
        if (!value.IsString()) fields.refuse(name, "must be an array of texts");
        texts.emplace_back(value.GetString(), value.GetStringLength());
    }
    return texts;
}

Addresses addresses_field(JsonFields& fields, const char* name) {
    Addresses addresses;
    for (const std::string& text : texts_field(fields, name)) {
        addresses.push_back(platform::parse_listen_address(text, name));
    }
    return addresses;
}

bool is_loopback_host(const std::string& host) {
    return host.starts_with("127.") || host == "::1" || host == "localhost";
}

void check_url(const std::string& url) {
    const bool is_https = url.starts_with(kHttps);
    if (!is_https && !url.starts_with(kHttp)) {
        throw InputError(
            fmt::format("the URL \"{}\" begins neither with http:// nor https://", url));
    }
    const std::string_view rest =
        std::string_view{url}.substr(is_https ? kHttps.size() : kHttp.size());
    if (rest.find('/') != rest.size() - 1 || rest.size() < 2) {
        throw InputError(fmt::format(
            "the URL \"{}\" is not SCHEME://HOST/ or SCHEME://HOST:PORT/ with nothing behind",
            url));
    }
    const std::string_view host = rest.substr(0, rest.find_first_of(":/"));
    const bool is_host =
        !host.empty() && host.size() <= kMaxHost && std::ranges::all_of(host, [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '-' || c == '.';
        });
    if (!is_host) {
        throw InputError(fmt::format(
            "the host in the URL \"{}\" is neither a name of at most {} characters nor an IPv4 "
            "address",
            url, kMaxHost));
    }
    const std::string_view port = rest.substr(host.size(), rest.size() - 1 - host.size());
    if (!port.empty()) {
        const auto parsed = platform::parse_listen_address(fmt::format("x{}", port), "the URL");
        if (parsed.port == kNoPort) throw InputError("the URL's port is 0");
    }
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
        throw InputError(fmt::format("mail_from \"{}\" is no e-mail address", settings.mail_from));
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

/// Adds a field unless the text is empty.
void put(json::Value& fields, const char* name, const std::string& text) {
    if (!text.empty()) fields.set(name, text);
}

void put(json::Value& fields, const char* name, const std::vector<std::string>& texts) {
    if (!texts.empty()) fields.set(name, json::Value::List(texts.begin(), texts.end()));
}

void put(json::Value& fields, const char* name, const Addresses& addresses) {
    std::vector<std::string> texts;
    for (const auto& address : addresses) texts.push_back(address.text());
    put(fields, name, texts);
}

void put(json::Value& fields, const char* name, const std::optional<double>& number) {
    if (number) fields.set(name, *number);
}

}  // namespace

std::string Settings::host() const {
    const auto begin = url.find("://") + 3;
    return url.substr(begin, url.find_first_of(":/", begin) - begin);
}

bool Settings::is_loopback() const {
    const auto is_local = [](const platform::ListenAddress& address) {
        return is_loopback_host(address.host);
    };
    return std::ranges::all_of(listen, is_local) && std::ranges::all_of(redirect, is_local) &&
           is_loopback_host(peer_listen) && proxies.empty();
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
    const bool is_local = is_loopback_host(settings.host());
    if (!is_local && is_loopback_host(settings.peer_listen)) {
        throw InputError(
            fmt::format("members cannot dial {} on {}: name the address that backbones listen on",
                        settings.host(), settings.peer_listen));
    }
}

bool is_official(const std::filesystem::path& project) {
    return !std::filesystem::exists(project / kFile) &&
           std::filesystem::is_directory(project / kOfficialFolder);
}

std::filesystem::path state_folder(const std::filesystem::path& project) {
    return is_official(project) ? project / kOfficialFolder : project;
}

bool has_settings(const std::filesystem::path& project) {
    return std::filesystem::exists(project / kFile) || is_official(project);
}

Settings read_settings(const std::filesystem::path& project) {
    if (is_official(project)) return read_official_settings(project / "config.xml");
    const auto file = project / kFile;
    if (!has_settings(project)) {
        throw InputError(
            fmt::format("{} is not a DeDLOC project (it has no dedloc.json)", project.string()));
    }
    const auto document =
        formats::parse_json(file.string(), platform::read_text(file), kMaxSettingsBytes);
    JsonFields fields{document, "", file.string()};
    Settings settings{.name = fields.text("name", kMaxText),
                      .url = fields.text("url", kMaxText),
                      .listen = addresses_field(fields, "listen"),
                      .redirect = addresses_field(fields, "redirect"),
                      .certificate = optional_text(fields, "certificate"),
                      .certificate_key = optional_text(fields, "certificate_key"),
                      .acme_webroot = optional_text(fields, "acme_webroot"),
                      .proxies = texts_field(fields, "proxies"),
                      .peer_listen = fields.text("peer_listen", kMaxText),
                      .peer_address = optional_text(fields, "peer_address"),
                      .peer_port = port_field(fields, "peer_port", kNoPort),
                      .server_port = port_field(fields, "server_port", 1),
                      .gateway_port = port_field(fields, "gateway_port", 1),
                      .database_port = port_field(fields, "database_port", 1),
                      .mail_from = optional_text(fields, "mail_from"),
                      .mail_relay = optional_text(fields, "mail_relay"),
                      .mail_credentials = optional_text(fields, "mail_credentials")};
    if (fields.has("keep_days")) {
        settings.keep_days = static_cast<int>(fields.integer("keep_days", 1, kMaxDays));
    }
    if (fields.has("max_links")) {
        settings.max_links = static_cast<std::size_t>(fields.integer("max_links", 1, kMostLinks));
    }
    const auto seats = [&](const char* name, std::uint64_t& value) {
        if (fields.has(name)) value = fields.integer(name, 0, kMostSeats);
    };
    seats("seats_per_account", settings.seats_per_account);
    seats("seats_per_network", settings.seats_per_network);
    const auto rate = [&](const char* name, std::optional<double>& value) {
        if (fields.has(name)) value = fields.number(name, kLeastDeviceRate, kMostDeviceRate);
    };
    rate("flops_per_gpu", settings.flops_per_gpu);
    rate("flops_per_core", settings.flops_per_core);
    fields.finish();
    check_settings(settings);
    return settings;
}

void write_settings(const std::filesystem::path& project, const Settings& settings) {
    json::Value fields;
    put(fields, "name", settings.name);
    put(fields, "url", settings.url);
    put(fields, "listen", settings.listen);
    put(fields, "redirect", settings.redirect);
    put(fields, "certificate", settings.certificate.string());
    put(fields, "certificate_key", settings.certificate_key.string());
    put(fields, "acme_webroot", settings.acme_webroot.string());
    put(fields, "proxies", settings.proxies);
    put(fields, "peer_listen", settings.peer_listen);
    put(fields, "peer_address", settings.peer_address);
    for (const auto& [name, port] : {std::pair{"peer_port", settings.peer_port},
                                     std::pair{"server_port", settings.server_port},
                                     std::pair{"gateway_port", settings.gateway_port},
                                     std::pair{"database_port", settings.database_port}}) {
        fields.set(name, port);
    }
    fields.set("keep_days", settings.keep_days);
    for (const auto& [name, number] :
         {std::pair{"max_links", std::uint64_t{settings.max_links}},
          std::pair{"seats_per_account", settings.seats_per_account},
          std::pair{"seats_per_network", settings.seats_per_network}}) {
        fields.set(name, number);
    }
    put(fields, "flops_per_gpu", settings.flops_per_gpu);
    put(fields, "flops_per_core", settings.flops_per_core);
    put(fields, "mail_from", settings.mail_from);
    put(fields, "mail_relay", settings.mail_relay);
    put(fields, "mail_credentials", settings.mail_credentials.string());
    platform::replace_file(project / kFile, json::write_pretty(fields) + "\n");
}

}  // namespace dedloc::server
