#include "project_server/json/value.hpp"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "peer/base/check.hpp"

namespace dedloc::json {
namespace {

rapidjson::SizeType length(const std::string& text) {
    return static_cast<rapidjson::SizeType>(text.size());
}

template <class Writer>
void put(Writer& writer, const Value& value) {
    std::visit(
        [&]<class T>(const T& held) {
            if constexpr (std::is_same_v<T, std::nullptr_t>) {
                writer.Null();
            } else if constexpr (std::is_same_v<T, bool>) {
                writer.Bool(held);
            } else if constexpr (std::is_same_v<T, std::int64_t>) {
                writer.Int64(held);
            } else if constexpr (std::is_same_v<T, std::uint64_t>) {
                writer.Uint64(held);
            } else if constexpr (std::is_same_v<T, double>) {
                if (std::isfinite(held)) {
                    writer.Double(held);
                } else {
                    writer.Null();
                }
            } else if constexpr (std::is_same_v<T, std::string>) {
                writer.String(held.data(), length(held));
            } else if constexpr (std::is_same_v<T, Value::List>) {
                writer.StartArray();
                for (const Value& item : held) put(writer, item);
                writer.EndArray();
            } else {
                writer.StartObject();
                for (const auto& [name, field] : held) {
                    writer.Key(name.data(), length(name));
                    put(writer, field);
                }
                writer.EndObject();
            }
        },
        value.value());
}

}  // namespace

Value& Value::set(std::string name, Value value) {
    auto* const fields = std::get_if<Fields>(&value_);
    DEDLOC_CHECK(fields != nullptr, "only an object has fields", name);
    fields->emplace_back(std::move(name), std::move(value));
    return *this;
}

const Value& Value::field(std::string_view name) const {
    const auto* const fields = std::get_if<Fields>(&value_);
    DEDLOC_CHECK(fields != nullptr, "only an object has fields", name);
    const auto found = std::ranges::find(*fields, name, &std::pair<std::string, Value>::first);
    DEDLOC_CHECK(found != fields->end(), "the field must be there", name);
    return found->second;
}

std::string write(const Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
    put(writer, value);
    return {buffer.GetString(), buffer.GetSize()};
}

std::string write_pretty(const Value& value, unsigned indent) {
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
    writer.SetIndent(' ', indent);
    put(writer, value);
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace dedloc::json
