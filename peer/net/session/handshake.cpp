// Each message, plain or sealed, is hashed into a running transcript. The X25519 shared secret is
// hashed together with the transcript of both Hellos into a root key; the keys for the sealed
// messages follow from it by libsodium's KDF, one per direction. Each sealed message has the
// transcript as additional data, so it decrypts only after the same conversation. When both proofs
// are in the transcript, the keys of the link's frames are derived from it in the same way.
// Anything that changes a message or its order changes the keys: raise LinkVersions then.
#include "peer/net/session/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::net {
namespace {

constexpr std::uint32_t kHelloMagic = 0x534c4444;  // "DDLS"

/// First byte of a sealed message's plaintext.
enum class Kind : std::uint8_t { kRefusal = 0, kProof = 1, kVerdict = 2 };

/// Second byte of a proof: what else its end can do, as bits. An end ignores bits that it does not
/// know.
constexpr std::byte kHasAes{1};

// Subkey numbers and contexts for libsodium's KDF.
constexpr std::uint64_t kDiallerKey = 1;
constexpr std::uint64_t kListenerKey = 2;
constexpr char kHandshakeKeys[crypto_kdf_CONTEXTBYTES + 1] = "DDLshake";
constexpr char kLinkKeys[crypto_kdf_CONTEXTBYTES + 1] = "DDLframe";
constexpr std::uint64_t kFlowProofs = 1;
constexpr std::uint64_t kFlowToken = 2;
constexpr char kFlowSecret[crypto_kdf_CONTEXTBYTES + 1] = "DDLflows";

static_assert(crypto_scalarmult_BYTES == 32);
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == 32);
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == 16);
static_assert(Handshake::kSealedBytes > wire::kTicketBytes + wire::kSignatureBytes);

constexpr std::size_t kPlainBytes = Handshake::kSealedBytes - 16;

template <class Byte>
auto* handshake_bytes(Byte* bytes) {
    using Raw = std::conditional_t<std::is_const_v<Byte>, const unsigned char, unsigned char>;
    return reinterpret_cast<Raw*>(bytes);
}

/// The bytes that a proof signs: the signer's role, the transcript and the ticket.
Buffer what_is_signed(Side side, const Digest& transcript, std::span<const std::byte> ticket) {
    ByteWriter out;
    out.append(bytes_of("DeDLOC@home link proof 1\n"));
    out.write(side);
    out.append(transcript.bytes);
    out.append(ticket);
    return std::move(out).finish();
}

using Nonce = std::array<unsigned char, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES>;

/// A message counter is a safe nonce, since a key serves one direction of one handshake.
Nonce nonce_of(std::uint64_t number) {
    Nonce nonce{};
    std::memcpy(nonce.data(), &number, sizeof number);
    return nonce;
}

Side other(Side side) {
    return side == Side::kDialler ? Side::kListener : Side::kDialler;
}

}  // namespace

/// The signature is checked first: the ticket's fields count only if it is valid.
LinkRefusal judge(const std::optional<formats::SignedTicket>& ticket, const SessionOptions& session,
                  formats::UtcSeconds now, const formats::Revocations& revoked) {
    if (!ticket) return LinkRefusal::kNoTicket;
    const formats::Ticket& fields = ticket->ticket;
    const formats::TicketSigners signers{.project = session.project, .gateway = session.ticket_key};
    if (!formats::is_signed_by(signers, *ticket)) return LinkRefusal::kOtherProject;
    if (fields.run != session.run) return LinkRefusal::kOtherRun;
    constexpr std::chrono::seconds kClockError{wire::kClockErrorSeconds};
    if (now + kClockError < fields.issued) return LinkRefusal::kNotYetValid;
    if (now >= fields.expires) return LinkRefusal::kExpired;
    if (revoked.covers(fields)) return LinkRefusal::kRevoked;
    return LinkRefusal::kNone;
}

Handshake::Handshake(const SessionOptions& options, Side side, std::optional<PeerKey> expected,
                     LinkVersions versions)
    : options_(options), side_(side), expected_(expected), versions_(versions) {
    DEDLOC_CHECK(sodium_init() >= 0, "libsodium could not find a source of randomness");
    DEDLOC_CHECK(versions.oldest <= versions.newest, "the range of versions is empty");
    if (!is_dialler()) state_ = State::kAwaitsHello;
    transcript_ = blake2b(bytes_of("DeDLOC@home link 1\n"));
}

Handshake::~Handshake() = default;

Buffer Handshake::begin() {
    if (!is_dialler()) return {};
    DEDLOC_CHECK(state_ == State::kFresh, "the handshake has already begun");
    state_ = State::kAwaitsHello;
    return hello();
}

std::size_t Handshake::wants() const {
    switch (state_) {
        case State::kAwaitsHello:
            return kHelloBytes;
        case State::kAwaitsProof:
        case State::kAwaitsVerdict:
            return kSealedBytes;
        case State::kFresh:
        case State::kProven:
        case State::kRefused:
            return 0;
    }
    return 0;
}

Buffer Handshake::take(std::span<const std::byte> message, formats::UtcSeconds now,
                       const formats::Revocations& revoked, const Admit& admit) {
    DEDLOC_CHECK(wants() > 0 && message.size() == wants(), "a handshake message is not complete",
                 message.size(), wants());
    if (state_ == State::kAwaitsHello) return take_hello(message);
    if (state_ == State::kAwaitsProof) return take_proof(message, now, revoked, admit);
    return take_verdict(message);
}

std::string Handshake::sentence() const {
    DEDLOC_CHECK(is_refused(), "the handshake is not refused, so there is no reason");
    return is_told_ ? describe_told(refusal_) : describe(refusal_);
}

const Proven& Handshake::proven() const {
    DEDLOC_CHECK(is_proven(), "the handshake has not proven the other end");
    return proven_;
}

// --- Hellos ------------------------------------------------------------------

Buffer Handshake::hello() {
    randombytes_buf(ephemeral_.bytes.data(), ephemeral_.bytes.size());
    crypto_scalarmult_base(handshake_bytes(own_ephemeral_.data()),
                           handshake_bytes(ephemeral_.bytes.data()));
    ByteWriter out;
    out.write(kHelloMagic);
    out.write(versions_.oldest);
    out.write(versions_.newest);
    out.write(std::uint32_t{options_.encrypts ? 1U : 0U});
    out.append(own_ephemeral_);
    Buffer message = std::move(out).finish();
    add_to_transcript(message);
    return message;
}

/// The listener answers any Hello with its own, so that the dialler sees the mismatch too.
Buffer Handshake::take_hello(std::span<const std::byte> message) {
    ByteReader in(message);
    const auto magic = in.read<std::uint32_t>();
    const auto oldest = in.read<std::uint16_t>();
    const auto newest = in.read<std::uint16_t>();
    const auto encrypts = in.read<std::uint32_t>();
    const auto ephemeral = in.take(32);
    if (magic != kHelloMagic || !ephemeral) {
        refused(LinkRefusal::kNotALink, false);
        return {};
    }
    add_to_transcript(message);
    Buffer answer = is_dialler() ? Buffer{} : hello();
    const bool is_common = *oldest <= *newest && *oldest <= versions_.newest &&
                           versions_.oldest <= *newest && *oldest >= 1;
    if (!is_common) {
        refused(LinkRefusal::kOtherVersion, false);
    } else if (*encrypts != (options_.encrypts ? 1U : 0U)) {
        refused(LinkRefusal::kOtherEncryption, false);
    } else if (std::ranges::equal(*ephemeral, own_ephemeral_)) {
        refused(LinkRefusal::kChanged, false);  // our own Hello, reflected
    } else if (!derive_keys(ephemeral->first<32>())) {
        refused(LinkRefusal::kChanged, false);
    }
    if (is_refused()) return answer;
    if (options_.ticket) proven_.expires = options_.ticket->ticket.expires;
    proven_.version = std::min(*newest, versions_.newest);
    proven_.encrypts = options_.encrypts;
    state_ = State::kAwaitsProof;
    return is_dialler() ? prove() : answer;
}

/// False if the other end's ephemeral key is a low-order point: its shared secret is public.
bool Handshake::derive_keys(std::span<const std::byte, 32> other_ephemeral) {
    SecretKey shared;
    const int status = crypto_scalarmult(handshake_bytes(shared.bytes.data()),
                                         handshake_bytes(ephemeral_.bytes.data()),
                                         handshake_bytes(other_ephemeral.data()));
    ephemeral_ = SecretKey{};
    if (status != 0) return false;
    root_ = keyed_hash(shared, transcript_.bytes);
    send_ = derive_key(root_, is_dialler() ? kDiallerKey : kListenerKey, kHandshakeKeys);
    receive_ = derive_key(root_, is_dialler() ? kListenerKey : kDiallerKey, kHandshakeKeys);
    return true;
}

// --- proofs and verdicts -----------------------------------------------------

Buffer Handshake::prove() {
    ByteWriter plain;
    plain.write(Kind::kProof);
    plain.write(options_.has_aes ? kHasAes : std::byte{0});
    const Buffer ticket = options_.ticket ? formats::encode(*options_.ticket)  //
                                          : Buffer(wire::kTicketBytes);
    plain.append(ticket);
    plain.append(options_.key.sign(what_is_signed(side_, transcript_, ticket)));
    return seal(std::move(plain).finish());
}

Buffer Handshake::take_proof(std::span<const std::byte> message, formats::UtcSeconds now,
                             const formats::Revocations& revoked, const Admit& admit) {
    const Digest before = transcript_;
    const auto plain = open(message);
    if (!plain) {
        refused(LinkRefusal::kChanged, false);
        return {};
    }
    if ((*plain)[0] == static_cast<std::byte>(Kind::kRefusal) && is_dialler()) {
        refused(refusal_of(std::to_integer<std::uint8_t>((*plain)[1])), true);
        return {};
    }
    const LinkRefusal verdict = judge_proof(*plain, before, now, revoked);
    if (verdict != LinkRefusal::kNone) return refuse(verdict);
    if (!is_dialler()) {
        const LinkRefusal answer = admit ? admit(proven_.peer.peer) : LinkRefusal::kNone;
        if (answer != LinkRefusal::kNone) return refuse(answer);
        state_ = State::kAwaitsVerdict;
        Buffer proof = prove();
        derive_link_keys();
        return proof;
    }
    derive_link_keys();
    state_ = State::kProven;
    Buffer plain_verdict(kPlainBytes);
    plain_verdict[0] = static_cast<std::byte>(Kind::kVerdict);
    return seal(plain_verdict);
}

LinkRefusal Handshake::judge_proof(std::span<const std::byte> proof,
                                   const Digest& signed_transcript, formats::UtcSeconds now,
                                   const formats::Revocations& revoked) {
    if (proof[0] != static_cast<std::byte>(Kind::kProof)) return LinkRefusal::kNotALink;
    const auto ticket_bytes = proof.subspan(2, wire::kTicketBytes);
    const auto signature_bytes = proof.subspan(2 + wire::kTicketBytes, wire::kSignatureBytes);
    const auto ticket = formats::decode_ticket(ticket_bytes);
    const LinkRefusal refusal = judge(ticket, options_, now, revoked);
    if (refusal != LinkRefusal::kNone) return refusal;
    Signature signature;
    std::copy(signature_bytes.begin(), signature_bytes.end(), signature.begin());
    const PeerKey& key = ticket->ticket.peer;
    const Buffer claim = what_is_signed(other(side_), signed_transcript, ticket_bytes);
    if (!verify(key, claim, signature)) return LinkRefusal::kBadSignature;
    // Only the dialler checks this: it then knows that it must not dial this address again.
    if (is_dialler() && is_own(key)) return LinkRefusal::kMyself;
    if (expected_ && key != *expected_) return LinkRefusal::kOtherPeer;
    proven_.peer = ticket->ticket;
    const bool both_have_aes = options_.has_aes && (proof[1] & kHasAes) != std::byte{0};
    proven_.cipher = both_have_aes ? Cipher::kAes256Gcm : Cipher::kXChaCha20;
    return LinkRefusal::kNone;
}

Buffer Handshake::take_verdict(std::span<const std::byte> message) {
    const auto plain = open(message);
    if (!plain) {
        refused(LinkRefusal::kChanged, false);
    } else if ((*plain)[0] == static_cast<std::byte>(Kind::kVerdict)) {
        state_ = State::kProven;
        if (is_own(proven_.peer.peer)) refused(LinkRefusal::kMyself, false);
    } else if ((*plain)[0] == static_cast<std::byte>(Kind::kRefusal)) {
        refused(refusal_of(std::to_integer<std::uint8_t>((*plain)[1])), true);
    } else {
        refused(LinkRefusal::kNotALink, false);
    }
    return {};
}

/// Derives the keys of the link's frames, and the secret of its flows, from the root key and the
/// transcript with both proofs.
void Handshake::derive_link_keys() {
    const SecretKey root = keyed_hash(root_, transcript_.bytes);
    proven_.send = derive_key(root, is_dialler() ? kDiallerKey : kListenerKey, kLinkKeys);
    proven_.receive = derive_key(root, is_dialler() ? kListenerKey : kDiallerKey, kLinkKeys);
    proven_.flows.key = derive_key(root, kFlowProofs, kFlowSecret);
    const SecretKey token = derive_key(root, kFlowToken, kFlowSecret);
    FlowToken& name = proven_.flows.token;
    std::copy_n(token.bytes.begin(), name.bytes.size(), name.bytes.begin());
}

Buffer Handshake::refuse(LinkRefusal refusal) {
    refused(refusal, false);
    Buffer plain(kPlainBytes);
    plain[0] = static_cast<std::byte>(Kind::kRefusal);
    plain[1] = static_cast<std::byte>(refusal);
    return seal(plain);
}

void Handshake::refused(LinkRefusal refusal, bool is_told) {
    state_ = State::kRefused;
    refusal_ = refusal;
    is_told_ = is_told;
    proven_ = Proven{};
}

// --- sealed messages ---------------------------------------------------------

Buffer Handshake::seal(std::span<const std::byte> plain) {
    DEDLOC_CHECK(plain.size() == kPlainBytes, "a sealed message has the wrong size", plain.size());
    Buffer message(kSealedBytes);
    const Nonce nonce = nonce_of(sent_++);
    crypto_aead_xchacha20poly1305_ietf_encrypt(
        handshake_bytes(message.data()), nullptr, handshake_bytes(plain.data()), plain.size(),
        handshake_bytes(transcript_.bytes.data()), transcript_.bytes.size(), nullptr, nonce.data(),
        handshake_bytes(send_.bytes.data()));
    add_to_transcript(message);
    return message;
}

/// The plaintext; nothing if this is not the other end's next message after this transcript.
std::optional<Buffer> Handshake::open(std::span<const std::byte> message) {
    Buffer plain(kPlainBytes);
    const Nonce nonce = nonce_of(received_++);
    const int status = crypto_aead_xchacha20poly1305_ietf_decrypt(
        handshake_bytes(plain.data()), nullptr, nullptr, handshake_bytes(message.data()),
        message.size(), handshake_bytes(transcript_.bytes.data()), transcript_.bytes.size(),
        nonce.data(), handshake_bytes(receive_.bytes.data()));
    if (status != 0) return {};
    add_to_transcript(message);
    return plain;
}

void Handshake::add_to_transcript(std::span<const std::byte> message) {
    ByteWriter out;
    out.append(transcript_.bytes);
    out.append(message);
    transcript_ = blake2b(std::move(out).finish());
}

}  // namespace dedloc::net
