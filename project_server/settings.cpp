#include "project_server/settings.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::server {
namespace {

using rapidjson::Value;

const Value& field(const rapidjson::Document& document, const char* name,
                   const std::filesystem::path& file) {
    const auto found = document.FindMember(name);
    if (found == document.MemberEnd()) {
        throw InputError(fmt::format("{} has no field {}", file.string(), name));
    }
    return found->value;
}

std::string text_field(const rapidjson::Document& document, const char* name,
                       const std::filesystem::path& file) {
    const Value& value = field(document, name, file);
    if (!value.IsString()) {
        throw InputError(fmt::format("{}: field {} is not a string", file.string(), name));
    }
    return {value.GetString(), value.GetStringLength()};
}

std::uint16_t port_field(const rapidjson::Document& document, const char* name,
                         const std::filesystem::path& file) {
    const Value& value = field(document, name, file);
    if (!value.IsUint() || value.GetUint() == 0 || value.GetUint() > 65535) {
        throw InputError(fmt::format("{}: field {} is not a port", file.string(), name));
    }
    return static_cast<std::uint16_t>(value.GetUint());
}

}  // namespace

std::string master_url(const Settings& settings) {
    return fmt::format("http://{}:{}/", settings.host, settings.port);
}

Settings read_settings(const std::filesystem::path& project) {
    const auto file = project / "dedloc.json";
    if (!std::filesystem::exists(file)) {
        throw InputError(
            fmt::format("{} is not a DeDLOC project (it has no dedloc.json)", project.string()));
    }
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag>(platform::read_text(file).c_str());
    if (document.HasParseError() || !document.IsObject()) {
        throw InputError(fmt::format("{} is not a JSON object", file.string()));
    }
    return {.name = text_field(document, "name", file),
            .host = text_field(document, "host", file),
            .port = port_field(document, "port", file),
            .server_port = port_field(document, "server_port", file),
            .gateway_port = port_field(document, "gateway_port", file),
            .database_port = port_field(document, "database_port", file)};
}

void write_settings(const std::filesystem::path& project, const Settings& settings) {
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
    writer.StartObject();
    writer.Key("name");
    writer.String(settings.name.c_str());
    writer.Key("host");
    writer.String(settings.host.c_str());
    writer.Key("port");
    writer.Uint(settings.port);
    writer.Key("server_port");
    writer.Uint(settings.server_port);
    writer.Key("gateway_port");
    writer.Uint(settings.gateway_port);
    writer.Key("database_port");
    writer.Uint(settings.database_port);
    writer.EndObject();
    platform::replace_file(project / "dedloc.json", std::string(buffer.GetString()) + "\n");
}

}  // namespace dedloc::server
