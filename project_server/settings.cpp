#include "project_server/settings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "peer/base/error.hpp"

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
        throw InputError(fmt::format("{}: field {} is no text", file.string(), name));
    }
    return {value.GetString(), value.GetStringLength()};
}

std::uint16_t port_field(const rapidjson::Document& document, const char* name,
                         const std::filesystem::path& file) {
    const Value& value = field(document, name, file);
    if (!value.IsUint() || value.GetUint() == 0 || value.GetUint() > 65535) {
        throw InputError(fmt::format("{}: field {} is no port", file.string(), name));
    }
    return static_cast<std::uint16_t>(value.GetUint());
}

void write_all(int file, std::string_view text, const std::filesystem::path& name) {
    while (!text.empty()) {
        const ssize_t count = write(file, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            throw IoError(fmt::format("cannot write {}: {}", name.string(), std::strerror(errno)));
        }
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

/// Best effort where a file system cannot do it: the file itself is on the disk.
void sync_folder(std::filesystem::path folder) {
    if (folder.empty()) folder = ".";
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    fsync(descriptor);
    close(descriptor);
}

}  // namespace

std::string master_url(const Settings& settings) {
    return fmt::format("http://{}:{}/", settings.host, settings.port);
}

Settings read_settings(const std::filesystem::path& project) {
    const auto file = project / "dedloc.json";
    if (!std::filesystem::exists(file)) {
        throw InputError(
            fmt::format("{} is no DeDLOC project (it has no dedloc.json)", project.string()));
    }
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag>(read_text(file).c_str());
    if (document.HasParseError() || !document.IsObject()) {
        throw InputError(fmt::format("{} is no JSON object", file.string()));
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
    write_text(project / "dedloc.json", std::string(buffer.GetString()) + "\n");
}

std::string read_text(const std::filesystem::path& file) {
    std::ifstream input(file, std::ios::binary);
    std::ostringstream text;
    text << input.rdbuf();
    if (!input) throw IoError(fmt::format("cannot read {}", file.string()));
    return std::move(text).str();
}

void write_text(const std::filesystem::path& file, const std::string& text, unsigned mode) {
    auto beside = file;
    beside += ".new";
    const int out = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (out < 0) {
        throw IoError(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
    }
    try {
        write_all(out, text, file);
    } catch (...) {
        close(out);
        unlink(beside.c_str());
        throw;
    }
    const bool is_flushed = fsync(out) == 0;
    close(out);
    if (!is_flushed || rename(beside.c_str(), file.c_str()) != 0) {
        const int reason = errno;
        unlink(beside.c_str());
        throw IoError(fmt::format("cannot write {}: {}", file.string(), std::strerror(reason)));
    }
    sync_folder(file.parent_path());
}

}  // namespace dedloc::server
