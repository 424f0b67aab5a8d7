// messages.fbs and message_fields.hpp describe the same bytes: flatc's own code, generated from the
// schema, verifies what pack() has made, reads it, and makes the same bytes of what it has read.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "messages_generated.h"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace dedloc::wire;

namespace {

/// What flatc's code makes of these bytes: table by table into its own structs and back. Empty if
/// its verifier refuses them.
template <class FbTable>
Buffer made_again(const Buffer& bytes, const char* identifier = nullptr) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    flatbuffers::Verifier verifier(data, bytes.size());
    if (!verifier.VerifyBuffer<FbTable>(identifier)) return {};
    const std::unique_ptr<typename FbTable::NativeTableType> value{
        flatbuffers::GetRoot<FbTable>(data)->UnPack()};
    flatbuffers::FlatBufferBuilder out;
    out.Finish(FbTable::Pack(out, value.get()), identifier);
    const auto built = std::as_bytes(std::span{out.GetBufferPointer(), out.GetSize()});
    return {built.begin(), built.end()};
}

Buffer payload(const Message& message) {
    const SharedBytes frame = frame_of(message, nullptr);
    const auto bytes = payload_of(*frame);
    return {bytes.begin(), bytes.end()};
}

bool is_int8(const Body& body) {
    const auto* chunk = std::get_if<Chunk>(&body);
    return chunk != nullptr && codec_of(chunk->elements) == Codec::kInt8;
}

}  // namespace

TEST_CASE("the schema and the code describe the same messages", "[wire]") {
    static_assert(static_cast<std::size_t>(fb::Body::MAX) == std::variant_size_v<BodyKinds>);
    for (std::size_t kind = 0; kind < std::variant_size_v<BodyKinds>; ++kind) {
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            INFO("kind " << kind << ", seed " << seed);
            WireSamples samples{seed};
            const Message message = samples.message(samples.body(kind), test_key());
            const Buffer bytes = payload(message);
            const Buffer again = made_again<fb::Message>(bytes);
            // flatc's code has the codes before their exponents.
            if (is_int8(message.body)) {
                CHECK(unpack(again).value() == message);
            } else {
                CHECK(again == bytes);
            }
        }
    }
}

TEST_CASE("the schema and the code describe the same records", "[wire]") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        INFO("seed " << seed);
        WireSamples samples{seed};
        const auto check = [&]<class FbTable>(const FbTable*, auto value, const char* identifier) {
            samples.make(value);
            CHECK(made_again<FbTable>(pack(value), identifier) == pack(value));
        };
        const fb::Plan* plan = nullptr;
        const fb::VoterState* state = nullptr;
        const fb::Generation* generation = nullptr;
        const fb::Decision* decision = nullptr;
        check(plan, Plan{}, nullptr);
        check(state, VoterState{}, kVoterStateIdentifier);
        check(generation, SignedGeneration{}, kGenerationIdentifier);
        check(decision, Decision{}, kDecisionIdentifier);
    }
}
