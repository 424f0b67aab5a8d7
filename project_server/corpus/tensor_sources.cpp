// The head of a .npy file is the text of a Python dictionary. NumPy writes its three fields in one
// form only, so it is read by its fixed parts, not as Python.
#include "project_server/corpus/tensor_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/mapped_file.hpp"
#include "project_server/huggingface/safetensors.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;
using formats::ElementType;

constexpr std::string_view kNumpyMagic{"\x93NUMPY", 6};
constexpr std::size_t kMaxNumpyHead = 65'536;

[[noreturn]] void refuse_file(const fs::path& path, const std::string& clause) {
    throw InputError{fmt::format("{} {}", path.string(), clause)};
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The tensor with these extents, the samples first, and these bytes.
TensorSource source(const fs::path& path, const std::string& name, ElementType type,
                    std::vector<std::uint64_t> shape, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner) {
    TensorSource made{.name = name, .tensor = {}, .samples = 0, .bytes = bytes, .owner = {}};
    if (shape.empty() || shape.front() == 0) refuse_file(path, "has a tensor without samples");
    made.samples = shape.front();
    shape.erase(shape.begin());
    if (shape.size() > formats::kMaxSampleExtents) {
        refuse_file(path, fmt::format("has a tensor of more than {} dimensions",
                                      formats::kMaxSampleExtents + 1));
    }
    std::uint64_t sample = formats::size_of(type);
    for (const std::uint64_t extent : shape) {
        if (extent == 0 || extent > formats::kMaxSampleBytes / sample) {
            refuse_file(path, "has samples of no element, or of too many");
        }
        sample *= extent;
    }
    if (made.samples > bytes.size() / sample || bytes.size() != made.samples * sample) {
        refuse_file(path, "is cut off, or longer than its head says");
    }
    made.tensor = {.type = type, .shape = std::move(shape)};
    made.owner = std::move(owner);
    return made;
}

/// The text after `key` in the head of a .npy file.
std::string_view after(const fs::path& path, std::string_view head, std::string_view key) {
    const std::size_t at = head.find(key);
    if (at == std::string_view::npos) refuse_file(path, "has a head that NumPy does not write");
    return head.substr(at + key.size());
}

std::vector<std::uint64_t> numpy_shape(const fs::path& path, std::string_view rest) {
    std::vector<std::uint64_t> shape;
    const std::size_t end = rest.find(')');
    if (end == std::string_view::npos) refuse_file(path, "has a head that NumPy does not write");
    std::string_view list = rest.substr(0, end);
    while (!list.empty()) {
        std::uint64_t extent = 0;
        const auto [stop, error] = std::from_chars(list.data(), list.data() + list.size(), extent);
        if (error != std::errc{} || shape.size() > formats::kMaxSampleExtents) {
            refuse_file(path, "has a shape that cannot be used");
        }
        shape.push_back(extent);
        list.remove_prefix(static_cast<std::size_t>(stop - list.data()));
        list.remove_prefix(std::min(list.find_first_not_of(", "), list.size()));
    }
    return shape;
}

ElementType numpy_type(const fs::path& path, std::string_view rest) {
    for (const auto& [name, type] : {std::pair{"'<f4'", ElementType::kFloat32},
                                     {"'<i8'", ElementType::kInt64},
                                     {"'|u1'", ElementType::kUint8}}) {
        if (rest.starts_with(name)) return type;
    }
    refuse_file(path, "has elements other than float32, int64 and uint8: convert them with astype");
}

TensorSource open_numpy(const fs::path& path) {
    const auto file = std::make_shared<const platform::MappedFile>(path);
    const auto bytes = file->bytes();
    const std::string_view text = text_of(bytes);
    if (!text.starts_with(kNumpyMagic) || text.size() < 12) {
        refuse_file(path, "is not a .npy file of NumPy");
    }
    // The length of the head has 2 bytes in version 1 and 4 later.
    const bool is_first = text[6] == '\x01';
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + 8, is_first ? 2 : 4);
    const std::size_t begin = is_first ? 10 : 12;
    if (length > kMaxNumpyHead || length > bytes.size() - begin) {
        refuse_file(path, "is cut off, or its head is too long");
    }
    const std::string_view head = text.substr(begin, length);
    if (after(path, head, "'fortran_order': ").starts_with("True")) {
        refuse_file(path, "is in Fortran order: save numpy.ascontiguousarray of it");
    }
    return source(path, path.filename().string(), numpy_type(path, after(path, head, "'descr': ")),
                  numpy_shape(path, after(path, head, "'shape': (")), bytes.subspan(begin + length),
                  file);
}

std::vector<TensorSource> open_safetensors(const fs::path& path) {
    const auto file = std::make_shared<const platform::MappedFile>(path);
    const auto bytes = file->bytes();
    std::uint64_t length = 0;
    if (bytes.size() < sizeof(length)) refuse_file(path, "is not a safetensors file");
    std::memcpy(&length, bytes.data(), sizeof(length));
    const auto rest = bytes.subspan(sizeof(length));
    if (length < 2 || length > huggingface::kMaxHeaderBytes || length > rest.size()) {
        refuse_file(path, "is not a safetensors file");
    }
    const auto data = rest.subspan(static_cast<std::size_t>(length));
    const auto header = huggingface::parse_safetensors_header(
        path.string(), text_of(rest.first(static_cast<std::size_t>(length))), data.size());
    std::vector<TensorSource> sources;
    for (const auto& stored : header.tensors) {
        std::optional<ElementType> type;
        if (stored.type == "F32") type = ElementType::kFloat32;
        if (stored.type == "I64") type = ElementType::kInt64;
        if (stored.type == "U8") type = ElementType::kUint8;
        if (!type) {
            refuse_file(path, fmt::format("has '{}' of type {}; float32, int64 and uint8 can be "
                                          "used",
                                          stored.name, stored.type));
        }
        sources.push_back(source(path, stored.name, *type, stored.shape,
                                 data.subspan(static_cast<std::size_t>(stored.begin),
                                              static_cast<std::size_t>(stored.end - stored.begin)),
                                 file));
    }
    std::ranges::sort(sources, {}, &TensorSource::name);
    return sources;
}

}  // namespace

std::vector<TensorSource> open_tensors(const fs::path& path) {
    if (path.extension() == ".safetensors") return open_safetensors(path);
    if (path.extension() != ".npy") refuse_file(path, "must be a .npy or .safetensors file");
    std::vector<TensorSource> sources;
    sources.push_back(open_numpy(path));
    return sources;
}

}  // namespace dedloc::corpus
