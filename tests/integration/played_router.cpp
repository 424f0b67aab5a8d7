#include "tests/integration/played_router.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "peer/base/check.hpp"

namespace dedloc::test {
namespace {

constexpr std::uint16_t kNatPmpPort = 5351;
constexpr std::size_t kQuestionBytes = 12;
constexpr std::size_t kAnswerBytes = 16;

enum Operation : unsigned char { kMapTcp = 2, kAnswer = 128 };
enum Outcome : unsigned char { kSuccess = 0, kUnknownVersion = 1, kNotAuthorised = 2 };

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// Creates a network namespace for this thread. Without root it needs a user namespace around it,
/// in which this user is root.
bool enter_new_network() {
    if (unshare(CLONE_NEWNET) == 0) return true;
    const uid_t user = getuid();
    const gid_t group = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    std::ofstream{"/proc/self/setgroups"} << "deny";
    std::ofstream{"/proc/self/uid_map"} << fmt::format("0 {} 1", user);
    std::ofstream{"/proc/self/gid_map"} << fmt::format("0 {} 1", group);
    return true;
}

std::uint16_t number_at(const std::string& bytes, std::size_t offset) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    return static_cast<std::uint16_t>(byte(offset) << 8 | byte(offset + 1));
}

void put_number(std::string& bytes, std::size_t offset, std::uint16_t number) {
    bytes[offset] = static_cast<char>(number >> 8);
    bytes[offset + 1] = static_cast<char>(number & 0xff);
}

}  // namespace

std::unique_ptr<House> House::enter(std::string& why) {
    if (!enter_new_network()) {
        why = fmt::format("no network namespaces here: {}", std::strerror(errno));
        return nullptr;
    }
    int street = -1;
    std::thread([&street] {
        if (unshare(CLONE_NEWNET) == 0) street = open("/proc/thread-self/ns/net", O_RDONLY);
    }).join();
    DEDLOC_CHECK(street >= 0, "no second network namespace beside the first");
    std::unique_ptr<House> house{new House{street}};
    if (!run(fmt::format("ip link add house type veth peer name street netns /proc/{}/fd/{}",
                         getpid(), street))) {
        why = "no program ip (iproute2), or no virtual Ethernet in this kernel";
        return nullptr;
    }
    bool is_connected = run("ip link set lo up && ip link set house up") &&
                        run(fmt::format("ip address add {}/24 dev house", kHouseAddress));
    house->in_street([&is_connected] {
        is_connected = is_connected && run("ip link set lo up && ip link set street up") &&
                       run(fmt::format("ip address add {}/24 dev street", kRouterAddress));
    });
    is_connected = is_connected && run(fmt::format("ip route add default via {}", kRouterAddress));
    DEDLOC_CHECK(is_connected, "house and street cannot be connected");
    return house;
}

House::~House() {
    close(street_);
}

void House::move_to(const std::string& address) const {
    const bool is_moved = run("ip address flush dev house") &&
                          run(fmt::format("ip address add {}/24 dev house", address)) &&
                          run(fmt::format("ip route add default via {}", kRouterAddress));
    DEDLOC_CHECK(is_moved, "the house cannot have this address");
}

void House::in_street(const std::function<void()>& work) const {
    std::thread([&] {
        DEDLOC_CHECK(setns(street_, CLONE_NEWNET) == 0, "cannot go into the street", errno);
        work();
    }).join();
}

PlayedRouter::PlayedRouter(Manner manner)
    : manner_(manner), descriptor_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kNatPmpPort);
    inet_pton(AF_INET, kRouterAddress.c_str(), &address.sin_addr);
    const timeval look{.tv_sec = 0, .tv_usec = 50'000};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look));
    DEDLOC_CHECK(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
                 "the router cannot listen", errno);
    thread_ = std::thread([this] { serve(); });
}

PlayedRouter::~PlayedRouter() {
    is_stopping_ = true;
    thread_.join();
    close(descriptor_);
}

std::optional<std::uint16_t> PlayedRouter::port_behind(std::uint16_t port) const {
    const std::lock_guard lock(mutex_);
    const auto found = passed_on_.find(port);
    return found != passed_on_.end() ? std::optional{found->second} : std::nullopt;
}

void PlayedRouter::restart() {
    const std::lock_guard lock(mutex_);
    passed_on_.clear();
    ++restarts_;
}

void PlayedRouter::serve() {
    while (!is_stopping_) {
        std::array<char, 1100> bytes{};
        sockaddr_in from{};
        socklen_t length = sizeof(from);
        auto* const raw = reinterpret_cast<sockaddr*>(&from);
        const auto size = recvfrom(descriptor_, bytes.data(), bytes.size(), 0, raw, &length);
        if (size <= 0) continue;
        was_asked_ = true;
        const std::string reply = answer({bytes.data(), static_cast<std::size_t>(size)});
        sendto(descriptor_, reply.data(), reply.size(), 0, raw, length);
    }
}

/// Version, operation, result (2 bytes), time (4), internal port (2), external port (2), life (4).
std::string PlayedRouter::answer(const std::string& question) {
    std::string reply(kAnswerBytes, '\0');
    reply[1] = static_cast<char>(question.size() > 1 ? question[1] | kAnswer : kAnswer);
    if (question[0] != 0) {
        reply[3] = kUnknownVersion;  // the first request is PCP
        return reply;
    }
    if (question.size() < kQuestionBytes) return reply;
    if (manner_ == Manner::kRefuses) {
        reply[3] = kNotAuthorised;
        return reply;
    }
    const std::uint16_t theirs = number_at(question, 4);
    const bool is_to_end = number_at(question, 8) == 0 && number_at(question, 10) == 0;
    const auto ours = static_cast<std::uint16_t>(is_to_end ? 0 : theirs ^ (1U + restarts_));
    put_number(reply, 8, theirs);
    put_number(reply, 10, ours);
    reply.replace(12, 4, question, 8, 4);
    if (question[1] != kMapTcp) return reply;
    const std::lock_guard lock(mutex_);
    std::erase_if(passed_on_, [&](const auto& entry) { return entry.second == theirs; });
    if (is_to_end) return reply;
    passed_on_[ours] = theirs;
    ++mappings_;
    return reply;
}

}  // namespace dedloc::test
