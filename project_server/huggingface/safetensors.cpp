// The header is checked in two steps. Each tensor's place must have the length that its shape and
// type say, with a test for overflow before each product; then all places, sorted by their begin,
// must cover the data without a gap. A later read therefore finds too few bytes only if the file
// has become shorter. Duplicate names are found by sorting, because the JSON parser keeps both.
#include "project_server/huggingface/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::huggingface {
namespace {

using formats::JsonFields;

constexpr std::size_t kMaxTensorNameBytes = 254;
constexpr std::size_t kMaxMetadataBytes = 65'536;
constexpr std::size_t kMaxTensorExtents = 8;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 44;

StoredTensor read_tensor(const std::string& name, JsonFields fields) {
    StoredTensor tensor{.name = name, .type = fields.text("dtype", 16), .shape = {}};
    const std::uint64_t element_bytes = bytes_of_type(tensor.type);
    if (element_bytes == 0) fields.refuse("dtype", "is not a type that this program knows");
    std::uint64_t bytes = element_bytes;
    for (const auto& extent : fields.array("shape", 0, kMaxTensorExtents).GetArray()) {
        if (!extent.IsUint64()) fields.refuse("shape", "must contain whole numbers");
        tensor.shape.push_back(extent.GetUint64());
        if (extent.GetUint64() != 0 && bytes > kMaxFileBytes / extent.GetUint64()) {
            fields.refuse("shape", "is too large");
        }
        bytes *= extent.GetUint64();
    }
    const auto& places = fields.array("data_offsets", 2, 2);
    if (!places[0].IsUint64() || !places[1].IsUint64()) {
        fields.refuse("data_offsets", "must be two whole numbers");
    }
    tensor.begin = places[0].GetUint64();
    tensor.end = places[1].GetUint64();
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != bytes) {
        fields.refuse("data_offsets",
                      fmt::format("must be {} bytes apart, as shape and type say", bytes));
    }
    fields.finish();
    return tensor;
}

std::map<std::string, std::string> read_metadata(const rapidjson::Value& value,
                                                 const std::string& document) {
    JsonFields fields{value, "__metadata__", document};
    std::map<std::string, std::string> metadata;
    for (const auto& item : value.GetObject()) {
        const std::string name = item.name.GetString();
        if (!item.value.IsString() || item.value.GetStringLength() > kMaxMetadataBytes) {
            fields.refuse(name.c_str(), "must be a short text");
        }
        metadata[name] = {item.value.GetString(), item.value.GetStringLength()};
    }
    return metadata;
}

/// The tensors must cover the data exactly.
void check_places(const std::string& document, const std::vector<StoredTensor>& tensors,
                  std::uint64_t data_bytes) {
    std::uint64_t end = 0;
    for (const StoredTensor& tensor : tensors) {
        if (tensor.begin != end) {
            throw InputError(
                fmt::format("{}: the tensor {} begins at byte {} of the data, but the "
                            "one before it ends at byte {}",
                            document, tensor.name, tensor.begin, end));
        }
        end = tensor.end;
    }
    if (end != data_bytes) {
        throw InputError(
            fmt::format("{}: its tensors have {} bytes together, but {} bytes follow its header",
                        document, end, data_bytes));
    }
}

}  // namespace

std::string write_safetensors_head(std::vector<StoredTensor> tensors,
                                   const std::map<std::string, std::string>& metadata) {
    json::Value described_file;
    described_file.set("format", "pt");
    for (const auto& [name, text] : metadata) described_file.set(name, text);
    json::Value header;
    header.set("__metadata__", std::move(described_file));
    std::uint64_t offset = 0;
    for (const StoredTensor& tensor : tensors) {
        const std::uint64_t begin = offset;
        const std::uint64_t element_bytes = bytes_of_type(tensor.type);
        DEDLOC_CHECK(element_bytes > 0, "a tensor of an unknown type", tensor.name);
        offset += tensor.count() * element_bytes;
        json::Value described;
        described.set("dtype", tensor.type)
            .set("shape", json::Value::List(tensor.shape.begin(), tensor.shape.end()))
            .set("data_offsets", json::Value::List{begin, offset});
        header.set(tensor.name, std::move(described));
    }
    std::string json = json::write(header);
    json.resize((json.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = json.size();
    std::string head(sizeof(length), '\0');
    std::memcpy(head.data(), &length, sizeof(length));
    return head + json;
}

SafetensorsHeader parse_safetensors_header(const std::string& document, std::string_view json,
                                           std::uint64_t data_bytes) {
    const auto parsed = formats::parse_json(document, json, kMaxHeaderBytes);
    const JsonFields whole{parsed, "", document};  // refuses anything but an object
    SafetensorsHeader header;
    std::vector<std::string_view> names;
    for (const auto& item : parsed.GetObject()) {
        const std::string name{item.name.GetString(), item.name.GetStringLength()};
        names.emplace_back(item.name.GetString(), item.name.GetStringLength());
        if (name.empty() || name.size() > kMaxTensorNameBytes) {
            throw InputError(fmt::format("{}: a tensor's name has 1 to {} bytes", document,
                                         kMaxTensorNameBytes));
        }
        if (name == "__metadata__") {
            header.metadata = read_metadata(item.value, document);
        } else {
            header.tensors.push_back(read_tensor(name, {item.value, name, document}));
        }
    }
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
        throw InputError(fmt::format("{}: has '{}' twice", document, *twice));
    }
    std::ranges::sort(header.tensors, {}, [](const StoredTensor& tensor) {
        return std::pair{tensor.begin, tensor.end};
    });
    check_places(document, header.tensors, data_bytes);
    return header;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : TensorFile(path.string()), file_(path, platform::DurableFile::Mode::kRead) {
    const std::uint64_t size = file_.size();
    std::uint64_t length = 0;
    const std::span head{&length, 1};
    if (file_.read_at(0, std::as_writable_bytes(head)) < sizeof(length) || length < 2 ||
        length > kMaxHeaderBytes || length > size - sizeof(length)) {
        throw InputError(fmt::format("{} is not a safetensors file", name()));
    }
    std::string json(static_cast<std::size_t>(length), '\0');
    const std::size_t got = file_.read_at(sizeof(length), std::as_writable_bytes(std::span{json}));
    if (got < json.size()) throw InputError(fmt::format("{} became shorter while read", name()));
    data_offset_ = sizeof(length) + length;
    header_ = parse_safetensors_header(name(), json, size - data_offset_);
}

void SafetensorsFile::read_bytes(const StoredTensor& tensor, std::uint64_t offset,
                                 std::span<std::byte> out) const {
    if (file_.read_at(data_offset_ + tensor.begin + offset, out) < out.size()) {
        throw InputError(fmt::format("{} became shorter while read", name()));
    }
}

}  // namespace dedloc::huggingface
