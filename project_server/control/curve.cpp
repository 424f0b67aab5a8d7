// The domain of a ZAP request is the key of the client to let in, so the thread keeps no list.
#include "project_server/control/curve.hpp"

#include <sodium.h>
#include <zmq.h>

#include <array>
#include <string>
#include <string_view>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "project_server/control/zmq_sockets.hpp"

namespace dedloc::control {
namespace {

using CurveKey = std::array<unsigned char, 32>;
static_assert(CurveKey{}.size() == crypto_scalarmult_curve25519_BYTES);

constexpr int kQueued = 64;
constexpr int kCurveBacklog = 1'024;     ///< connections that ZeroMQ's thread has not seen yet
constexpr int kHeartbeatEvery = 2'000;   ///< ms
constexpr int kHeartbeatLimit = 10'000;  ///< ms without an answer after which a connection is lost

const unsigned char* raw(const PeerKey& key) {
    return reinterpret_cast<const unsigned char*>(key.bytes.data());
}

std::string_view text(const CurveKey& key) {
    return {reinterpret_cast<const char*>(key.data()), key.size()};
}

CurveKey curve_key(const PeerKey& key) {
    CurveKey converted{};
    if (crypto_sign_ed25519_pk_to_curve25519(converted.data(), raw(key)) != 0) {
        throw InputError(key.brief() + " is no public key");
    }
    return converted;
}

/// A secret key as CURVE has it, cleared at the end.
class CurveSecret {
  public:
    explicit CurveSecret(const KeyPair& pair) {
        std::array<unsigned char, crypto_sign_ed25519_PUBLICKEYBYTES> ignored{};
        std::array<unsigned char, crypto_sign_ed25519_SECRETKEYBYTES> secret{};
        const auto seed = pair.seed();
        crypto_sign_ed25519_seed_keypair(ignored.data(), secret.data(),
                                         reinterpret_cast<const unsigned char*>(seed.data()));
        crypto_sign_ed25519_sk_to_curve25519(key_.data(), secret.data());
        sodium_memzero(secret.data(), secret.size());
    }
    ~CurveSecret() { sodium_memzero(key_.data(), key_.size()); }
    CurveSecret(const CurveSecret&) = delete;
    CurveSecret& operator=(const CurveSecret&) = delete;
    const CurveKey& key() const { return key_; }

  private:
    CurveKey key_{};
};

/// Answers ZeroMQ's questions as long as the process lives.
/// Frames: version, id, domain, address, identity, "CURVE", key; and version, id, status, …
void answer_questions(void* questions) {
    for (;;) {
        if (!can_receive(questions, std::chrono::hours{1})) continue;
        const auto asked = receive_frames(questions);
        if (!asked || asked->size() < 2) continue;
        CurveKey wanted{};
        PeerKey client;
        const bool is_known =
            asked->size() == 7 && asked->at(5) == "CURVE" && from_hex(asked->at(2), client.bytes) &&
            crypto_sign_ed25519_pk_to_curve25519(wanted.data(), raw(client)) == 0 &&
            asked->at(6) == text(wanted);
        send_frames(questions, {"1.0", asked->at(1), is_known ? "200" : "400", "", "", ""}, 0);
    }
}

/// Starts the thread. Like ZeroMQ's context it is there until the process ends.
void be_asked() {
    static const bool is_started = [] {
        SocketHandle questions = open(ZMQ_REP, kQueued);
        check(zmq_bind(questions.get(), "inproc://zeromq.zap.01") == 0, "open a socket");
        const platform::SignalsBlocked blocked;
        std::thread{answer_questions, questions.release()}.detach();
        return true;
    }();
    (void)is_started;
}

void watch_liveness(void* socket) {
    set(socket, ZMQ_IPV6, 1);
    set(socket, ZMQ_HEARTBEAT_IVL, kHeartbeatEvery);
    set(socket, ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatLimit);
}

}  // namespace

void serve_curve(void* socket, const RemoteAccess& access) {
    be_asked();
    (void)curve_key(access.client);
    watch_liveness(socket);
    set(socket, ZMQ_BACKLOG, kCurveBacklog);
    set(socket, ZMQ_CURVE_SERVER, 1);
    set(socket, ZMQ_CURVE_SECRETKEY, text(CurveSecret{access.own}.key()));
    set(socket, ZMQ_ZAP_DOMAIN, access.client.hex());
}

void use_curve(void* socket, const RemoteEnd& end) {
    watch_liveness(socket);
    set(socket, ZMQ_CURVE_SERVERKEY, text(curve_key(end.voter)));
    set(socket, ZMQ_CURVE_PUBLICKEY, text(curve_key(end.own.public_key())));
    set(socket, ZMQ_CURVE_SECRETKEY, text(CurveSecret{end.own}.key()));
}

}  // namespace dedloc::control
