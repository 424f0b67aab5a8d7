#include "project_server/official/manifest.hpp"

#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <span>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::official {
namespace {

constexpr std::size_t kMaxManifestBytes = 1 << 20;
constexpr std::size_t kMaxEntries = 10'000;

using formats::JsonFields;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void put_text(Writer& writer, const std::string& text) {
    writer.String(text.c_str(), static_cast<rapidjson::SizeType>(text.size()));
}

void put_set(Writer& writer, const std::set<std::string>& texts) {
    writer.StartArray();
    for (const auto& text : texts) put_text(writer, text);
    writer.EndArray();
}

std::set<std::string> set_of(JsonFields& fields, const char* name) {
    std::set<std::string> texts;
    for (const auto& value : fields.array(name, 0, kMaxEntries).GetArray()) {
        if (!value.IsString()) fields.refuse(name, "must be an array of texts");
        texts.emplace(value.GetString(), value.GetStringLength());
    }
    return texts;
}

}  // namespace

std::string digest_of(const std::string& text) {
    return blake2b(std::as_bytes(std::span{text})).hex();
}

std::filesystem::path manifest_file(const std::filesystem::path& project) {
    return project / "dedloc/install.json";
}

std::optional<Manifest> read_manifest(const std::filesystem::path& project) {
    const auto file = manifest_file(project);
    if (!std::filesystem::exists(file)) return std::nullopt;
    const auto document =
        formats::parse_json(file.string(), platform::read_text(file), kMaxManifestBytes);
    JsonFields fields{document, "", file.string()};
    Manifest manifest{.created = set_of(fields, "created"), .added = set_of(fields, "added")};
    for (auto& entry : fields.objects("empty_elements", 0, kMaxEntries)) {
        const auto form = set_of(entry, "form");
        manifest.empty_elements[entry.text("name", kMaxManifestBytes)] =
            form.empty() ? "" : *form.begin();
        entry.finish();
    }
    for (auto& entry : fields.objects("written", 0, kMaxEntries)) {
        manifest.written[entry.text("file", kMaxManifestBytes)] = set_of(entry, "digests");
        entry.finish();
    }
    const auto schema = set_of(fields, "schema");
    if (!schema.empty()) manifest.schema = *schema.begin();
    fields.finish();
    return manifest;
}

void write_manifest(const std::filesystem::path& project, const Manifest& manifest) {
    rapidjson::StringBuffer buffer;
    Writer writer(buffer);
    const auto optional_text = [&](const std::string& text) {
        put_set(writer, text.empty() ? std::set<std::string>{} : std::set{text});
    };
    writer.StartObject();
    writer.Key("created");
    put_set(writer, manifest.created);
    writer.Key("added");
    put_set(writer, manifest.added);
    writer.Key("empty_elements");
    writer.StartArray();
    for (const auto& [name, form] : manifest.empty_elements) {
        writer.StartObject();
        writer.Key("name");
        put_text(writer, name);
        writer.Key("form");
        optional_text(form);
        writer.EndObject();
    }
    writer.EndArray();
    writer.Key("written");
    writer.StartArray();
    for (const auto& [file, digests] : manifest.written) {
        writer.StartObject();
        writer.Key("file");
        put_text(writer, file);
        writer.Key("digests");
        put_set(writer, digests);
        writer.EndObject();
    }
    writer.EndArray();
    writer.Key("schema");
    optional_text(manifest.schema);
    writer.EndObject();
    platform::replace_file(manifest_file(project), std::string(buffer.GetString()) + "\n");
}

}  // namespace dedloc::official
