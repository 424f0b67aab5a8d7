// Messages have fixed sizes. Each proof covers the transcript, which holds both nonces once the
// Answer is in it. The listener looks its link up twice and never keeps a pointer to it.
#include "peer/net/session/flow_handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::net {
namespace {

constexpr std::uint32_t kAttachMagic = 0x414c4444;  // "DDLA"
constexpr std::size_t kNonceBytes = 24;
constexpr std::size_t kProofBytes = 32;

// Numbers and context of a flow's keys.
constexpr std::uint64_t kFlowDiallerKey = 1;
constexpr std::uint64_t kFlowListenerKey = 2;
constexpr char kFlowKeys[crypto_kdf_CONTEXTBYTES + 1] = "DDLaflow";

static_assert(FlowHandshake::kAttachBytes == Handshake::kHelloBytes);
static_assert(FlowHandshake::kFlowBytes == 1 + kNonceBytes + kProofBytes);
static_assert(FlowHandshake::kFlowBytes <= Handshake::kSealedBytes);

std::array<std::byte, kNonceBytes> new_nonce() {
    std::array<std::byte, kNonceBytes> nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

void append(Buffer& to, std::span<const std::byte> bytes) {
    const std::size_t size = to.size();
    to.resize(size + bytes.size());
    std::ranges::copy(bytes, to.begin() + static_cast<std::ptrdiff_t>(size));
}

}  // namespace

bool FlowHandshake::is_attach(std::span<const std::byte> message) {
    return ByteReader(message).read<std::uint32_t>() == kAttachMagic;
}

FlowHandshake::FlowHandshake(const FlowSecret& link)
    : link_(link), state_(State::kFresh), side_(Side::kDialler) {
    DEDLOC_CHECK(sodium_init() >= 0, "libsodium could not find a source of randomness");
}

FlowHandshake::FlowHandshake(FindLink find)
    : find_(std::move(find)), state_(State::kAwaitsAttach), side_(Side::kListener) {
    DEDLOC_CHECK(sodium_init() >= 0, "libsodium could not find a source of randomness");
}

Buffer FlowHandshake::begin() {
    if (side_ == Side::kListener) return {};
    DEDLOC_CHECK(state_ == State::kFresh, "the handshake has already begun");
    state_ = State::kAwaitsAnswer;
    ByteWriter out;
    out.write(kAttachMagic);
    out.append(link_.token.bytes);
    out.append(new_nonce());
    transcript_ = std::move(out).finish();
    return transcript_;
}

std::size_t FlowHandshake::wants() const {
    switch (state_) {
        case State::kAwaitsAttach:
            return kAttachBytes;
        case State::kAwaitsAnswer:
        case State::kAwaitsConfirm:
        case State::kAwaitsWelcome:
            return kFlowBytes;
        case State::kFresh:
        case State::kProven:
        case State::kRefused:
            return 0;
    }
    return 0;
}

Buffer FlowHandshake::take(std::span<const std::byte> message) {
    DEDLOC_CHECK(wants() > 0 && message.size() == wants(), "a handshake message is not complete",
                 message.size(), wants());
    switch (state_) {
        case State::kAwaitsAttach:
            return take_attach(message);
        case State::kAwaitsAnswer:
            return take_answer(message);
        case State::kAwaitsConfirm:
            return take_confirm(message);
        default:
            return take_welcome(message);
    }
}

Buffer FlowHandshake::take_attach(std::span<const std::byte> message) {
    if (!is_attach(message)) return refuse(LinkRefusal::kNotALink);
    FlowToken token;
    std::ranges::copy(message.subspan(4, token.bytes.size()), token.bytes.begin());
    NamedLink named = find_(token);
    if (named.refusal != LinkRefusal::kNone) return refuse(named.refusal);
    link_ = named.secret;
    append(transcript_, message);
    state_ = State::kAwaitsConfirm;
    return say(Role::kAnswer, new_nonce());
}

Buffer FlowHandshake::take_answer(std::span<const std::byte> message) {
    if (!is_good(Role::kAnswer, message)) return {};
    state_ = State::kAwaitsWelcome;
    derive_keys();
    return say(Role::kConfirm, std::array<std::byte, kNonceBytes>{});
}

Buffer FlowHandshake::take_confirm(std::span<const std::byte> message) {
    if (!is_good(Role::kConfirm, message)) return {};
    const NamedLink named = find_(link_.token);
    if (named.refusal != LinkRefusal::kNone) return refuse(named.refusal);
    Buffer welcome = say(Role::kWelcome, std::array<std::byte, kNonceBytes>{});
    state_ = State::kProven;
    return welcome;
}

Buffer FlowHandshake::take_welcome(std::span<const std::byte> message) {
    if (is_good(Role::kWelcome, message)) state_ = State::kProven;
    return {};
}

/// This end's next message; it enters the transcript.
Buffer FlowHandshake::say(Role role, std::span<const std::byte> nonce) {
    ByteWriter out;
    out.write(LinkRefusal::kNone);
    out.append(nonce);
    out.append(proof_of(role, nonce).bytes);
    Buffer message = std::move(out).finish();
    append(transcript_, message);
    if (role == Role::kAnswer) derive_keys();
    return message;
}

Buffer FlowHandshake::refuse(LinkRefusal refusal) {
    refused(refusal, false);
    Buffer message(kFlowBytes);
    message[0] = static_cast<std::byte>(refusal);
    return message;
}

/// Whether the other end's message proves the secret. If so it enters the transcript, else the
/// handshake is refused.
bool FlowHandshake::is_good(Role role, std::span<const std::byte> message) {
    if (message[0] != std::byte{0}) {
        refused(refusal_of(std::to_integer<std::uint8_t>(message[0])), true);
        return false;
    }
    const auto nonce = message.subspan(1, kNonceBytes);
    const auto shown = message.subspan(1 + kNonceBytes, kProofBytes);
    const SecretKey proof = proof_of(role, nonce);
    if (sodium_memcmp(proof.bytes.data(), shown.data(), kProofBytes) != 0) {
        refused(LinkRefusal::kChanged, false);
        return false;
    }
    append(transcript_, message);
    return true;
}

void FlowHandshake::refused(LinkRefusal refusal, bool is_told) {
    state_ = State::kRefused;
    refusal_ = refusal;
    is_told_ = is_told;
}

SecretKey FlowHandshake::proof_of(Role role, std::span<const std::byte> nonce) const {
    ByteWriter text;
    text.append(transcript_);
    text.write(role);
    text.append(nonce);
    return keyed_hash(link_.key, std::move(text).finish());
}

void FlowHandshake::derive_keys() {
    const SecretKey root = keyed_hash(link_.key, transcript_);
    const bool is_dialler = side_ == Side::kDialler;
    send_ = derive_key(root, is_dialler ? kFlowDiallerKey : kFlowListenerKey, kFlowKeys);
    receive_ = derive_key(root, is_dialler ? kFlowListenerKey : kFlowDiallerKey, kFlowKeys);
}

std::string FlowHandshake::sentence() const {
    DEDLOC_CHECK(is_refused(), "the handshake is not refused, so there is no reason");
    return is_told_ ? describe_told(refusal_) : describe(refusal_);
}

LinkKeys FlowHandshake::keys(Cipher cipher) const {
    DEDLOC_CHECK(is_proven(), "the handshake has not proven the other end");
    return {.cipher = cipher, .send = send_.bytes, .receive = receive_.bytes};
}

}  // namespace dedloc::net
