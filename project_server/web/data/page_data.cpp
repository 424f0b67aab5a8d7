#include "project_server/web/data/page_data.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "peer/base/check.hpp"

namespace dedloc::server {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

rapidjson::SizeType length(const std::string& text) {
    return static_cast<rapidjson::SizeType>(text.size());
}

void write(Writer& writer, const PageData& data) {
    std::visit(
        [&]<class T>(const T& value) {
            if constexpr (std::is_same_v<T, bool>) {
                writer.Bool(value);
            } else if constexpr (std::is_same_v<T, std::int64_t>) {
                writer.Int64(value);
            } else if constexpr (std::is_same_v<T, double>) {
                if (std::isfinite(value)) {
                    writer.Double(value);
                } else {
                    writer.Null();
                }
            } else if constexpr (std::is_same_v<T, std::string>) {
                writer.String(value.data(), length(value));
            } else if constexpr (std::is_same_v<T, PageData::List>) {
                writer.StartArray();
                for (const PageData& item : value) write(writer, item);
                writer.EndArray();
            } else {
                writer.StartObject();
                for (const auto& [name, field] : value) {
                    writer.Key(name.data(), length(name));
                    write(writer, field);
                }
                writer.EndObject();
            }
        },
        data.value());
}

}  // namespace

PageData& PageData::set(std::string name, PageData value) {
    auto* const fields = std::get_if<Fields>(&value_);
    DEDLOC_CHECK(fields != nullptr, "only an object has fields", name);
    fields->emplace_back(std::move(name), std::move(value));
    return *this;
}

const PageData& PageData::field(std::string_view name) const {
    const auto* const fields = std::get_if<Fields>(&value_);
    DEDLOC_CHECK(fields != nullptr, "only an object has fields", name);
    const auto found = std::ranges::find(*fields, name, &std::pair<std::string, PageData>::first);
    DEDLOC_CHECK(found != fields->end(), "the field must be there", name);
    return found->second;
}

std::string json_of(const PageData& data) {
    rapidjson::StringBuffer buffer;
    Writer writer{buffer};
    write(writer, data);
    return {buffer.GetString(), buffer.GetSize()};
}

std::string safe_link(std::string_view url) {
    const bool is_web = url.starts_with("http://") || url.starts_with("https://");
    for (const char c : url) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte == 0x7F || std::string_view{"\"'<>`\\"}.find(c) != url.npos) {
            return {};
        }
    }
    return is_web ? std::string{url} : std::string{};
}

}  // namespace dedloc::server
