// decode_tensor_shard() computes the place of every array from the head and takes it only if the
// file is that long, with numbers that are bounded before they are multiplied.
#include "peer/formats/tensor_shard.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "peer/base/check.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint32_t kTensorShardMagic = 0x31544C44;  // "DLT1"
constexpr std::size_t kArrayAlignment = 64;
constexpr std::uint64_t kMaxShardSamples = std::uint64_t{1} << 32;
constexpr std::size_t kSpecBytes = 72;

std::optional<ElementType> type_numbered(std::uint32_t number) {
    for (const auto type : {ElementType::kFloat32, ElementType::kInt64, ElementType::kUint8}) {
        if (number == static_cast<std::uint32_t>(type)) return type;
    }
    return {};
}

/// The next tensor of the head. Nothing: kTooShort.
std::optional<Result<SampleTensor, TensorShardError>> read_spec(ByteReader& in) {
    const auto type = in.read<std::uint32_t>();
    const auto dimensions = in.read<std::uint32_t>();
    const auto extents = in.read<std::array<std::uint64_t, 8>>();
    if (!type || !dimensions || !extents) return {};
    const auto known = type_numbered(*type);
    if (!known || *dimensions > kMaxSampleExtents) return Failure{TensorShardError::kBadTensor};
    SampleTensor spec{.type = *known, .shape = {}};
    std::uint64_t bytes = size_of(*known);
    for (std::size_t i = 0; i < extents->size(); ++i) {
        const std::uint64_t extent = extents->at(i);
        if (i >= *dimensions) {
            if (extent != 0) return Failure{TensorShardError::kBadPadding};
            continue;
        }
        if (extent == 0 || extent > kMaxSampleBytes / bytes) {
            return Failure{TensorShardError::kBadTensor};
        }
        bytes *= extent;
        spec.shape.push_back(extent);
    }
    return spec;
}

std::size_t padding_after(std::size_t offset) {
    return (kArrayAlignment - offset % kArrayAlignment) % kArrayAlignment;
}

}  // namespace

std::size_t size_of(ElementType type) {
    switch (type) {
        case ElementType::kFloat32:
            return 4;
        case ElementType::kInt64:
            return 8;
        case ElementType::kUint8:
            break;
    }
    return 1;
}

std::uint64_t SampleTensor::bytes() const {
    std::uint64_t product = size_of(type);
    for (const std::uint64_t extent : shape) product *= extent;
    return product;
}

std::span<const std::byte> TensorShard::row(std::size_t tensor, std::uint64_t sample) const {
    DEDLOC_CHECK(tensor < specs.size() && sample < samples, "no such row", tensor, sample);
    const auto bytes = static_cast<std::size_t>(specs[tensor].bytes());
    return arrays[tensor].subspan(static_cast<std::size_t>(sample) * bytes, bytes);
}

const char* describe(TensorShardError error) {
    switch (error) {
        case TensorShardError::kTooShort:
            return "it is shorter than its head says";
        case TensorShardError::kNotAShard:
            return "it is not a shard of tensors of this version";
        case TensorShardError::kTrailingBytes:
            return "it is longer than its head says";
        case TensorShardError::kBadCounts:
            return "its head says that it has no sample, no tensor, or too many";
        case TensorShardError::kBadTensor:
            return "it has a tensor of an unknown type, of no elements or of too many";
        case TensorShardError::kBadPadding:
            return "bytes that it does not use are not 0";
    }
    return "it is damaged";
}

Buffer encode_tensor_shard(const std::vector<SampleTensor>& specs, std::uint64_t samples,
                           std::span<const std::span<const std::byte>> arrays) {
    DEDLOC_CHECK(samples >= 1 && !specs.empty() && specs.size() <= kMaxSampleTensors,
                 "a shard has samples of 1 to 16 tensors", samples, specs.size());
    DEDLOC_CHECK(arrays.size() == specs.size(), "one array for each tensor", arrays.size());
    Buffer out;
    const auto append = [&out](const auto& value) {
        const auto bytes = std::as_bytes(std::span{&value, 1});
        out.insert(out.end(), bytes.begin(), bytes.end());
    };
    append(kTensorShardMagic);
    append(static_cast<std::uint32_t>(specs.size()));
    append(samples);
    for (const SampleTensor& spec : specs) {
        DEDLOC_CHECK(spec.shape.size() <= kMaxSampleExtents, "too many extents");
        append(static_cast<std::uint32_t>(spec.type));
        append(static_cast<std::uint32_t>(spec.shape.size()));
        std::array<std::uint64_t, 8> extents{};
        std::ranges::copy(spec.shape, extents.begin());
        append(extents);
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        DEDLOC_CHECK(arrays[i].size() == samples * specs[i].bytes(), "wrong size of an array", i);
        out.resize(out.size() + padding_after(out.size()));
        out.insert(out.end(), arrays[i].begin(), arrays[i].end());
    }
    return out;
}

Result<TensorShard, TensorShardError> decode_tensor_shard(std::span<const std::byte> bytes,
                                                          std::shared_ptr<const void> owner) {
    ByteReader in{bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto tensors = in.read<std::uint32_t>();
    const auto samples = in.read<std::uint64_t>();
    if (!samples) return Failure{TensorShardError::kTooShort};
    if (*magic != kTensorShardMagic) return Failure{TensorShardError::kNotAShard};
    if (*tensors == 0 || *tensors > kMaxSampleTensors || *samples == 0 ||
        *samples > kMaxShardSamples) {
        return Failure{TensorShardError::kBadCounts};
    }
    TensorShard shard;
    shard.samples = *samples;
    shard.file = bytes;
    shard.owner = std::move(owner);
    for (std::uint32_t i = 0; i < *tensors; ++i) {
        auto spec = read_spec(in);
        if (!spec) return Failure{TensorShardError::kTooShort};
        if (!spec->has_value()) return Failure{spec->reason()};
        shard.specs.push_back(std::move(*spec).value());
    }
    std::size_t offset = 16 + kSpecBytes * shard.specs.size();
    for (const SampleTensor& spec : shard.specs) {
        const auto padding = in.take(padding_after(offset));
        if (!padding) return Failure{TensorShardError::kTooShort};
        for (const std::byte byte : *padding) {
            if (byte != std::byte{0}) return Failure{TensorShardError::kBadPadding};
        }
        // At most 2^62: no overflow.
        const auto array = in.take(static_cast<std::size_t>(shard.samples * spec.bytes()));
        if (!array) return Failure{TensorShardError::kTooShort};
        shard.arrays.push_back(*array);
        offset += padding->size() + array->size();
    }
    if (in.remaining() != 0) return Failure{TensorShardError::kTrailingBytes};
    return shard;
}

Result<TensorShard, TensorShardError> decode_tensor_shard(Buffer bytes) {
    const auto owner = std::make_shared<const Buffer>(std::move(bytes));
    return decode_tensor_shard(*owner, owner);
}

}  // namespace dedloc::formats
