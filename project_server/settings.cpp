// is_official() decides where the settings are: dedloc.json, if it exists, comes before config.xml.
// Optional fields are read only if they are there, so the defaults of Settings hold otherwise;
// unknown fields are refused, and check_settings() compares the fields with each other at the end.
// Writing leaves out what is empty and replaces the file in one step.
#include "project_server/settings.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"
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
constexpr std::uint16_t kNoPort = 0;
constexpr std::uint16_t kMaxPort = 65'535;
constexpr int kMaxDays = 10'000;

std::uint16_t port_field(JsonFields& fields, const char* name, std::uint16_t min) {
    return static_cast<std::uint16_t>(fields.integer(name, min, kMaxPort));
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
        settings.max_links =
            static_cast<std::size_t>(fields.integer("max_links", 1, platform::kMaxLinks));
    }
    const auto seats = [&](const char* name, std::uint64_t& value) {
        if (fields.has(name)) value = fields.integer(name, 0, kMaxSeats);
    };
    seats("seats_per_account", settings.seats_per_account);
    seats("seats_per_network", settings.seats_per_network);
    const auto rate = [&](const char* name, std::optional<double>& value) {
        if (fields.has(name)) value = fields.number(name, kMinDeviceRate, kMaxDeviceRate);
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
