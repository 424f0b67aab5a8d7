// Builds the bencoded query by hand and sends it from a connected UDP socket. Any datagram with the
// query's transaction counts as an answer. Each try waits for a third of the timeout.
#include "peer/tool/dht_ping.hpp"

#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/platform/descriptor.hpp"

namespace dedloc::tool {
namespace {

constexpr int kTries = 3;
constexpr std::size_t kNodeIdBytes = 20;
constexpr std::string_view kTransaction = "1:t4:ping";

struct Free {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

class UdpSocket {
  public:
    explicit UdpSocket(const addrinfo& peer)
        : descriptor_(socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        if (!descriptor_) throw IoError("there is no UDP on this machine");
        // A connected socket receives datagrams of this address only.
        is_connected_ = connect(descriptor_.id(), peer.ai_addr, peer.ai_addrlen) == 0;
    }

    /// Sends `question` and returns the first datagram; empty after the timeout or an error.
    std::string ask(const std::string& question, std::chrono::milliseconds timeout) const {
        if (!is_connected_ || send(descriptor_.id(), question.data(), question.size(), 0) < 0)
            return {};
        pollfd waiting{.fd = descriptor_.id(), .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, static_cast<int>(timeout.count())) != 1) return {};
        std::array<char, 2048> answer{};
        const ssize_t size = recv(descriptor_.id(), answer.data(), answer.size(), 0);
        return size > 0 ? std::string{answer.data(), static_cast<std::size_t>(size)}
                        : std::string{};
    }

  private:
    const platform::Descriptor descriptor_;
    bool is_connected_ = false;
};

std::string ping() {
    std::string id(kNodeIdBytes, '\0');
    randombytes_buf(id.data(), id.size());
    return "d1:ad2:id20:" + id + "e1:q4:ping" + std::string{kTransaction} + "1:y1:qe";
}

}  // namespace

bool answers_ping(const Endpoint& node, std::chrono::milliseconds timeout) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (getaddrinfo(node.host.c_str(), std::to_string(node.port).c_str(), &hints, &found) != 0) {
        return false;
    }
    const std::unique_ptr<addrinfo, Free> peer{found};
    const UdpSocket socket(*peer);
    const std::string question = ping();
    for (int i = 0; i < kTries; ++i) {
        const std::string answer = socket.ask(question, timeout / kTries);
        if (answer.find(kTransaction) != std::string::npos) return true;
    }
    return false;
}

}  // namespace dedloc::tool
