// A long path between network namespaces, for net_lab: a hub of TUN devices that delays packets,
// loses some, and limits what each namespace receives. The kernel of the lab may lack netem; and
// with a TUN device packets have their real size, which matters for their loss.
//
//     long_path DELAY_MS LOSS NAMESPACE ADDRESS DOWN_MBIT [NAMESPACE ADDRESS DOWN_MBIT]...
//
// DELAY_MS one way; LOSS from 0 to below 1; DOWN_MBIT 0: not limited. Each namespace gets a device
// eth0, which the caller configures. Prints "ready" when all are there, and runs until SIGTERM.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "peer/base/random.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration kLongestQueue = std::chrono::milliseconds{50};
constexpr std::size_t kMtu = 1'500;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kDestination = 16;  ///< offset in the header
constexpr int kPacketsATurn = 64;

struct Packet {
    Clock::time_point due;
    std::vector<char> bytes;
};

/// A namespace.
struct Port {
    int device = -1;
    in_addr address{};
    double down_bytes_per_second = 0;  ///< 0: not limited
    Clock::time_point free_at;         ///< its downlink has received the last packet
    std::deque<Packet> arriving;       ///< ordered by time
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "long_path: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

/// Enters the namespace and makes its device, which stays open.
int open_device(const std::string& name) {
    const int place = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (place < 0 || setns(place, CLONE_NEWNET) != 0) fail("namespace " + name);
    close(place);
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0) fail("/dev/net/tun");
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strncpy(request.ifr_name, "eth0", IFNAMSIZ - 1);
    if (ioctl(device, TUNSETIFF, &request) != 0) fail("eth0 in " + name);
    return device;
}

Clock::duration time_for(std::size_t bytes, double rate) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(bytes) / rate));
}

/// The hub.
class Path {
  public:
    Path(Clock::duration delay, double loss) : delay_(delay), loss_(loss) {}

    void add(const std::string& name, const std::string& address, double down_mbit) {
        Port port;
        if (inet_pton(AF_INET, address.c_str(), &port.address) != 1) fail(address);
        port.down_bytes_per_second = down_mbit * 1e6 / 8;
        port.device = open_device(name);
        ports_.push_back(std::move(port));
    }

    [[noreturn]] void run() {
        std::vector<pollfd> waiting;
        for (const Port& port : ports_) waiting.push_back({port.device, POLLIN, 0});
        for (;;) {
            const auto pause = deliver();
            timespec limit{};
            limit.tv_nsec = static_cast<long>(pause.count());
            if (ppoll(waiting.data(), waiting.size(), &limit, nullptr) < 0) fail("poll");
            for (const pollfd& one : waiting) {
                if (one.revents != 0) take(one.fd);
            }
        }
    }

  private:
    void take(int device) {
        std::array<char, kMtu> bytes;
        for (int turn = 0; turn < kPacketsATurn; ++turn) {
            const ssize_t size = read(device, bytes.data(), bytes.size());
            if (size < static_cast<ssize_t>(kIpv4Header)) return;
            if (bytes[0] >> 4 != 4 || random_.uniform() < loss_) continue;
            in_addr destination{};
            std::memcpy(&destination, bytes.data() + kDestination, sizeof destination);
            for (Port& port : ports_) {
                if (port.address.s_addr != destination.s_addr) continue;
                send(port, {bytes.data(), bytes.data() + size});
            }
        }
    }

    void send(Port& port, std::vector<char> bytes) const {
        auto due = Clock::now() + delay_;
        if (port.down_bytes_per_second > 0) {
            if (port.free_at > due + kLongestQueue) return;
            due = std::max(due, port.free_at) + time_for(bytes.size(), port.down_bytes_per_second);
            port.free_at = due;
        }
        port.arriving.push_back({due, std::move(bytes)});
    }

    /// Hands over what is due. Returns the time until the next packet, at most a millisecond.
    std::chrono::nanoseconds deliver() {
        const auto now = Clock::now();
        auto next = now + std::chrono::milliseconds{1};
        for (Port& port : ports_) {
            while (!port.arriving.empty() && port.arriving.front().due <= now) {
                const std::vector<char>& bytes = port.arriving.front().bytes;
                // A receiver without space loses it.
                (void)!write(port.device, bytes.data(), bytes.size());
                port.arriving.pop_front();
            }
            if (!port.arriving.empty()) next = std::min(next, port.arriving.front().due);
        }
        return std::max<std::chrono::nanoseconds>(next - now, std::chrono::nanoseconds{0});
    }

    const Clock::duration delay_;
    const double loss_;
    dedloc::Random random_{1};
    std::vector<Port> ports_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count < 6 || count % 3 != 0) {
        std::fprintf(stderr, "Usage: long_path DELAY_MS LOSS NAMESPACE ADDRESS DOWN_MBIT [...]\n");
        return 2;
    }
    Path path{std::chrono::milliseconds{std::atoi(arguments[1])}, std::atof(arguments[2])};
    for (int k = 3; k < count; k += 3) {
        path.add(arguments[k], arguments[k + 1], std::atof(arguments[k + 2]));
    }
    std::puts("ready");
    std::fflush(stdout);
    path.run();
}
