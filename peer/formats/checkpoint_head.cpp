// A head is valid if it is, byte for byte, what the encoder makes of its fields.
#include "peer/formats/checkpoint_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "peer/base/error.hpp"

namespace dedloc::formats {
namespace {

constexpr std::string_view kCheckpointMagic = "DEDLOCST";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kSealBytes = 8;

[[noreturn]] void refuse(const std::string& name, std::string_view what) {
    throw InputError(fmt::format("{} is {}", name, what));
}

}  // namespace

Buffer encode_checkpoint_head(const RunId& run, const CheckpointHead& head) {
    ByteWriter writer;
    writer.append(bytes_of(kCheckpointMagic));
    writer.write(kVersion);
    writer.write(head.vectors);
    writer.write(run.bytes);
    writer.write(head.step.value());
    writer.write(head.elements);
    writer.write(head.digest.bytes);
    Buffer bytes = std::move(writer).finish();
    const Digest seal = blake2b(bytes);
    bytes.insert(bytes.end(), seal.bytes.begin(), seal.bytes.begin() + kSealBytes);
    return bytes;
}

CheckpointHead decode_checkpoint_head(std::span<const std::byte> bytes, const RunId& run,
                                      const std::string& name) {
    ByteReader reader{bytes};
    const auto magic = reader.take(kCheckpointMagic.size());
    if (!magic || !std::ranges::equal(*magic, bytes_of(kCheckpointMagic)))
        refuse(name, "not a checkpoint");
    const auto version = reader.read<std::uint32_t>();
    const auto vectors = reader.read<std::uint32_t>();
    const auto owner = reader.read<RunId>();
    CheckpointHead head;
    const auto step = reader.read<std::uint64_t>();
    const auto elements = reader.read<std::uint64_t>();
    const auto digest = reader.read<Digest>();
    if (!digest || reader.remaining() != kSealBytes) refuse(name, "an incomplete checkpoint");
    if (*version != kVersion) {
        refuse(name, fmt::format("a checkpoint of version {}, and this program reads version {}",
                                 *version, kVersion));
    }
    if (*owner != run) {
        refuse(name,
               fmt::format("a checkpoint of the run {}, not of {}", owner->brief(), run.brief()));
    }
    head.step = StepIndex{*step};
    head.elements = *elements;
    head.vectors = *vectors;
    head.digest = *digest;
    if (!std::ranges::equal(bytes, encode_checkpoint_head(run, head))) {
        refuse(name, "a checkpoint with a damaged head");
    }
    return head;
}

}  // namespace dedloc::formats
