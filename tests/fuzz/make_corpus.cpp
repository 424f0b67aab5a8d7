// Writes the seeds of every corpus: make_corpus FOLDER. Inputs that once broke something are beside
// them and are not written here. make_corpus --large FOLDER writes those that are not committed.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/formats/receipt.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "peer/formats/tensor_shard.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/net/session/flow_handshake.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/wire/history.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "peer/wire/mixture.hpp"
#include "tests/fuzz/fixed_randomness.hpp"
#include "tests/fuzz/histories.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/peer/ledger/ledger.hpp"
#include "tests/peer/net/session/session_ends.hpp"
#include "tests/peer/wire/samples.hpp"
#include "tests/small_run.hpp"

namespace dedloc::fuzz {
namespace {

using tests::WireSamples;

/// The members of a record as they are packed.
Buffer packed_members(const CommitRecord& record) {
    ByteWriter out;
    for (const CommitLine& line : record.members) {
        out.append(line.peer.bytes);
        out.write(line.samples.value());
        out.write(line.loss_sum);
        out.write(line.reduced);
    }
    return std::move(out).finish();
}

/// The same tables, but the list of these elements is at the end, 4 bytes beside where structs of
/// 64-bit numbers may lie: FlatBuffers' verifier does not ask. Requires that it is there once.
Buffer misaligned(Buffer bytes, std::span<const std::byte> elements) {
    using Offset = flatbuffers::uoffset_t;
    const auto found = std::search(bytes.begin(), bytes.end(), elements.begin(), elements.end());
    DEDLOC_CHECK(found != bytes.end(), "the list is there");
    const auto end = found + static_cast<std::ptrdiff_t>(elements.size());
    const auto list = static_cast<std::size_t>(found - bytes.begin()) - sizeof(Offset);
    const Buffer moved(bytes.begin() + static_cast<std::ptrdiff_t>(list), end);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const std::size_t copy = bytes.size();
    for (std::size_t field = 0; field < list; field += sizeof(Offset)) {
        if (field + flatbuffers::ReadScalar<Offset>(&bytes[field]) != list) continue;
        flatbuffers::WriteScalar(&bytes[field], static_cast<Offset>(copy - field));
    }
    bytes.insert(bytes.end(), moved.begin(), moved.end());
    return bytes;
}

void write_messages(const std::filesystem::path& root) {
    const Corpus corpus(root, "message");
    WireSamples samples{1};
    for (std::size_t body = 0; body < std::variant_size_v<wire::BodyKinds>; ++body) {
        const auto message = samples.message(samples.body(body, 3), tests::test_key());
        corpus.add("body_" + std::to_string(body), *wire::frame_of(message, nullptr));
    }
    wire::Chunk chunk;
    chunk.chunk_elements = 3;
    chunk.elements = wire::Halves{.bits = std::vector<std::uint16_t>{1, 0x3c00, 0xfc00},
                                  .exponent = wire::kMinHalfExponent};
    const auto add = [&](const std::string& name, const wire::Body& body) {
        corpus.add(name, *wire::frame_of(samples.message(body, tests::test_key()), nullptr));
    };
    add("halves", chunk);
    chunk.elements = wire::Bfloats{.bits = std::vector<std::uint16_t>{1, 0x3f80, 0xff80}};
    add("bfloats", chunk);
    chunk.chunk_elements = 2 * wire::kInt8BlockElements;
    chunk.elements = wire::Int8Blocks{
        .codes = std::vector<std::int8_t>(wire::kInt8BlockElements + 1, -wire::kMaxInt8Code),
        .exponents = std::vector<std::uint8_t>{wire::kMinInt8Exponent, wire::kMaxInt8Exponent}};
    add("int8_blocks", chunk);
    // What a body may leave out, and what it then has.
    wire::Commit commit;
    samples.make(commit);
    for (const bool has_record : {false, true}) {
        if (has_record) samples.make(commit.record.emplace());
        if (!has_record) commit.record.reset();
        add(has_record ? "commit_with_record" : "commit_without_record", commit);
    }
    wire::StateOffer offer;
    samples.make(offer);
    offer.votes = commit.certificate.votes;
    add("offer_with_votes", offer);
    offer.votes.clear();
    add("offer_without_votes", offer);
    const auto whole = wire::frame_of(samples.message(commit, tests::test_key()), nullptr);
    corpus.add("misaligned_members", misaligned(*whole, packed_members(*commit.record)));
    const auto message = samples.message(wire::Leave{}, tests::test_key());
    const KeyPair key = tests::test_key();
    corpus.add("signed", *wire::frame_of(message, &key));
}

void write_records(const std::filesystem::path& root) {
    const Corpus corpus(root, "records");
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        WireSamples samples{seed};
        VoterState state;
        SignedGeneration generation;
        Decision decision;
        samples.make(state);
        samples.make(generation);
        samples.make(decision);
        corpus.add("voter_" + std::to_string(seed), wire::encode(state));
        corpus.add("generation_" + std::to_string(seed), wire::encode(generation));
        corpus.add("decision_" + std::to_string(seed), wire::encode(decision));
        if (seed == 0) {
            corpus.add("misaligned_members",
                       misaligned(wire::encode(decision), packed_members(decision.record)));
        }
    }
    corpus.add("ticket", formats::encode(formats::sign(tests::test_ticket(2), tests::test_key())));
    corpus.add("revocations",
               formats::encode(
                   formats::sign({.as_of = formats::UtcSeconds{std::chrono::seconds{1'700'000'000}},
                                  .users = {1, 300},
                                  .hosts = {7},
                                  .peers = {tests::test_key(2).public_key()}},
                                 tests::test_key())));
}

void write_link_frames(const std::filesystem::path& root) {
    const Corpus corpus(root, "link_frame");
    WireSamples samples{2};
    const auto message = samples.message(wire::Leave{}, tests::test_key());
    const SharedBytes frame =
        wire::encode(message, tests::test_key(), wire::LinkKind::kUnproven).whole();
    const auto header = [](net::FrameKind kind, std::size_t length) {
        return net::FrameHeader{
            .magic = net::kFrameMagic, .kind = kind, .length = static_cast<std::uint32_t>(length)};
    };
    ByteWriter two;
    two.write(header(net::FrameKind::kPing, 0));
    two.write(header(net::FrameKind::kData, frame->size()));
    two.append(*frame);
    two.write(header(net::FrameKind::kGoodbye, 0));
    corpus.add("conversation", std::move(two).finish());
    ByteWriter empty;
    empty.write(header(net::FrameKind::kData, 0));
    empty.write(header(net::FrameKind::kPing, 0));
    corpus.add("empty_frame", std::move(empty).finish());
    ByteWriter renewal;
    renewal.write(header(net::FrameKind::kTicket, wire::kTicketBytes));
    renewal.append(formats::encode(formats::sign(tests::test_ticket(2), tests::test_key())));
    renewal.write(header(net::FrameKind::kData, 0));
    corpus.add("renewal", std::move(renewal).finish());
}

/// As fuzz_session.cpp reads them: what is fed, then the bytes.
void write_sessions(const std::filesystem::path& root) {
    const Corpus corpus(root, "session");
    const net::SessionOptions one = net::session_of(1);
    const net::SessionOptions two = net::session_of(2);
    const auto add = [&](const std::string& name, std::uint8_t kind,
                         const std::vector<std::span<const std::byte>>& parts) {
        ByteWriter out;
        out.write(kind);
        for (const auto& part : parts) out.append(part);
        corpus.add(name, std::move(out).finish());
    };
    // Each end draws the numbers that it draws in the target, when it is the one that is tested.
    for (const bool tests_listener : {true, false}) {
        net::Conversation talk(tests_listener ? two : one, tests_listener ? one : two);
        FixedRandomness::begin(tests_listener ? 1 : 0);
        talk.play([&](std::size_t number, net::HandshakeMessage&) {
            if (number == 0) FixedRandomness::begin(tests_listener ? 0 : 1);
        });
        const auto& said = talk.messages;
        if (tests_listener) {
            add("dialler_says", 0, {said[0].bytes, said[2].bytes, said[4].bytes});
        } else {
            add("listener_says", 1, {said[1].bytes, said[3].bytes});
        }
    }
    add("change_nothing", 2, {});
    const std::uint8_t edit[] = {2, 17, 1, 4, 3, 255};
    add("change_two", 2, {std::as_bytes(std::span{edit})});
    const Buffer ticket = formats::encode(*two.ticket);
    add("ticket", 3, {ticket});
    ByteWriter frames;
    for (const auto kind : {net::FrameKind::kPing, net::FrameKind::kData, net::FrameKind::kData,
                            net::FrameKind::kGoodbye}) {
        const std::uint32_t size = kind == net::FrameKind::kData ? 40 : 0;
        frames.write(net::FrameHeader{.magic = net::kFrameMagic, .kind = kind, .length = size});
        frames.write(size);
        frames.append(Buffer(size));
    }
    const Buffer sealed = std::move(frames).finish();
    add("sealed_frames", 6, {sealed});
    add("plain_ping", 4, {std::span{sealed}.first(sizeof(net::FrameHeader))});
    formats::Ticket later = two.ticket->ticket;
    later.expires += std::chrono::hours{1};
    ByteWriter renewal;
    renewal.write(net::FrameHeader{
        .magic = net::kFrameMagic, .kind = net::FrameKind::kTicket, .length = wire::kTicketBytes});
    const Buffer header = std::move(renewal).finish();
    const Buffer shown = formats::encode(formats::sign(later, tests::test_key(net::kProject)));
    add("plain_renewal", 4, {header, shown});
    net::FlowSecret secret;
    secret.key.bytes[0] = std::byte{1};
    FixedRandomness::begin(0);
    const Buffer attach = net::FlowHandshake(secret).begin();
    const Buffer guess(net::FlowHandshake::kFlowBytes);
    const std::byte has_link[] = {std::byte{1}};
    add("attach", 7, {attach, guess, has_link});
    const std::uint16_t numbers[] = {2, 100, 0, 1'000, 1, 7, 1, 7, 9, 1'999};
    add("order", 8, {std::as_bytes(std::span{numbers})});
}

void write_ledgers(const std::filesystem::path& root) {
    const Corpus corpus(root, "ledger");
    corpus.add("empty", short_ledger({}, false).encode());
    corpus.add("three_rounds", short_ledger({1, 3, 2}, false).encode());
    corpus.add("two_generations", short_ledger({2, 2}, true).encode());
    // What the codec reads, without the file around it.
    ByteWriter out;
    ledger::EntryCodec codec(fuzz_trust().run, fuzz_trust().backbone);
    for (const std::uint8_t count : std::vector<std::uint8_t>{2, 3, 3}) {
        const CommitRecord record = record_after(codec.head(), count);
        DEDLOC_CHECK(
            codec.encode({.record = record, .certificate = certificate_of(record, 1)}, out),
            "a record that comes next");
    }
    corpus.add("entries", std::move(out).finish());
}

/// Choices of PeerWorld: which peer, overlap, links that are introduced, then any events.
void write_peers(const std::filesystem::path& root) {
    const Corpus corpus(root, "peer");
    for (const std::uint8_t kind :
         std::vector<std::uint8_t>{0,  1,  3,  5,  8,   9,   13,  24,  25,  32,  33, 57,
                                   64, 65, 73, 97, 128, 129, 152, 160, 161, 185, 225}) {
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            Random random{seed + 10 * kind};
            std::vector<std::uint8_t> choices{kind, static_cast<std::uint8_t>(seed % 2)};
            for (std::uint8_t link = 0; link < 3; ++link) {
                const bool is_backbone = (kind & 1) == 0;
                const auto stranger = static_cast<std::uint8_t>(is_backbone ? link + 1 : 2 * link);
                choices.insert(choices.end(), {0, link});
                // The other end, as the number that PeerWorld reads; its user and its limit.
                const auto proven = static_cast<std::uint8_t>(is_backbone ? link : (link + 3) % 4);
                if ((kind & 8) != 0) choices.insert(choices.end(), {proven, link, 200});
                choices.insert(choices.end(), {1, stranger, 0});
            }
            // The project appoints all five for the state of step 0.
            if ((kind & 192) != 0) choices.insert(choices.end(), {7, 0, 0, 0, 1, 0, 0, 2, 62, 7});
            for (int i = 0; i < 120; ++i) {
                // Mostly answers, ticks and the trainer's turns, so that rounds come to their end.
                const bool is_calm = random.below(4) != 0;
                const std::uint8_t calm[] = {5, 4, 11, 11, 11, 15, 16};
                choices.push_back(is_calm ? calm[random.below(std::size(calm))]
                                          : static_cast<std::uint8_t>(random.below(256)));
            }
            corpus.add("kind_" + std::to_string(kind) + "_" + std::to_string(seed),
                       std::as_bytes(std::span{choices}));
        }
    }
}

void write_receipts(const std::filesystem::path& root) {
    const Corpus corpus(root, "receipt");
    const KeyPair key = tests::test_key();
    formats::Receipt receipt{.run = WireSamples{3}.bytes<RunId>(),
                             .result_name = "albert_1_0",
                             .peer = key.public_key(),
                             .lines = {}};
    const auto add = [&](const std::string& name) {
        const Buffer file = formats::encode_receipt(receipt, key);
        corpus.add(name, file);
        corpus.add(name + "_unsigned", std::span{file}.subspan(wire::kSignatureBytes));
    };
    add("empty");
    receipt.lines = {{StepIndex{3}, Samples{8}}, {StepIndex{5}, Samples{1 << 20}}};
    add("two_lines");
}

void write_mixtures(const std::filesystem::path& root) {
    const Corpus corpus(root, "mixture");
    const auto add = [&](const std::string& name, std::size_t changes, std::size_t sources,
                         std::size_t added) {
        SignedMixture mixture{.version = 1, .changes = {}, .signature = {}, .added = {}};
        for (std::size_t i = 0; i < added; ++i) {
            mixture.added.push_back(blake2b(bytes_of(std::to_string(i))));
        }
        for (std::size_t i = 0; i < changes; ++i) {
            mixture.changes.push_back({.from = StepIndex{10 * (i + 1)},
                                       .weights = std::vector<std::uint64_t>(sources, i + 1)});
        }
        corpus.add(name, encode_mixture(mixture));
    };
    add("empty", 0, 0, 0);
    add("two_changes", 2, 2, 0);
    add("added_source", 2, 3, 1);
    add("largest", wire::kMaxMixtureChanges, wire::kMaxSources, wire::kMaxSources);
}

void write_shards(const std::filesystem::path& root) {
    const Corpus corpus(root, "shard");
    const std::vector<std::uint16_t> tokens{0, 1, 2, 3, 5, 8, 13, 21};
    formats::ShardBuilder one(22);
    one.add_sentence(tokens);
    corpus.add("one_sentence", std::move(one).finish().file);
    formats::ShardBuilder more(65'536);
    for (std::size_t i = 1; i <= tokens.size(); ++i) {
        more.add_sentence(std::span{tokens}.first(i));
        if (i % 3 == 0) more.end_document();
    }
    corpus.add("three_documents", std::move(more).finish().file);
}

void write_tensor_shards(const std::filesystem::path& root) {
    using formats::ElementType;
    const Corpus corpus(root, "tensor_shard");
    const Buffer bytes(24, std::byte{7});
    const std::span<const std::byte> all{bytes};
    corpus.add("one_number", formats::encode_tensor_shard({{ElementType::kFloat32, {}}}, 1,
                                                          std::vector{all.first(4)}));
    corpus.add("two_tensors", formats::encode_tensor_shard(
                                  {{ElementType::kUint8, {2, 4}}, {ElementType::kInt64, {}}}, 3,
                                  std::vector{all, all}));
}

void write_picture_shards(const std::filesystem::path& root) {
    const Corpus corpus(root, "picture_shard");
    formats::PictureShardBuilder builder;
    for (const char* picture : {"one", "another", "3"}) builder.add(bytes_of(picture));
    const auto shard = std::move(builder).finish();
    corpus.add("three_pictures", shard.file);
    corpus.add("labels", formats::encode_picture_labels({.shard = blake2b(shard.file),
                                                         .classes = {"cat", "dog"},
                                                         .labels = {1, 0, formats::kNoClass}}));
}

void write_run_files(const std::filesystem::path& root) {
    const Corpus corpus(root, "run_file");
    formats::RunFile run = tests::small_run();
    run.dht_seeds = {{"127.0.0.1", 7'881}};
    run.tensors = {{.name = "x", .shape = {3, 5}, .initial = formats::Initial::kZero}};
    corpus.add("tiny", bytes_of(formats::write_run_file(run)));
    corpus.add("empty_object", bytes_of("{}"));
}

}  // namespace
}  // namespace dedloc::fuzz

int main(int count, char** arguments) {
    const bool is_large = count == 3 && std::string_view{arguments[1]} == "--large";
    if (count != 2 && !is_large) {
        std::fprintf(stderr, "usage: make_corpus [--large] FOLDER\n");
        return 2;
    }
    const std::filesystem::path root = arguments[count - 1];
    if (is_large) {
        dedloc::fuzz::write_large_seeds(root);
        return 0;
    }
    dedloc::fuzz::write_messages(root);
    dedloc::fuzz::write_records(root);
    dedloc::fuzz::write_link_frames(root);
    dedloc::fuzz::write_sessions(root);
    dedloc::fuzz::write_ledgers(root);
    dedloc::fuzz::write_peers(root);
    dedloc::fuzz::write_receipts(root);
    dedloc::fuzz::write_mixtures(root);
    dedloc::fuzz::write_shards(root);
    dedloc::fuzz::write_tensor_shards(root);
    dedloc::fuzz::write_picture_shards(root);
    dedloc::fuzz::write_run_files(root);
    dedloc::fuzz::write_server_seeds(root);
    return 0;
}
