// Throughput of one link, plain and encrypted, compared with two blocking sockets: MB/s, and
// processor seconds for each GB at both ends, which are separate processes on this machine. Then
// the ciphers and handshakes alone, on one thread.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/bench/link_session.hpp"

namespace dedloc::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFrame = std::size_t{256} << 10;
constexpr std::size_t kFrames = 8'192;
constexpr std::size_t kWindow = 16;
constexpr double kGigabytes = static_cast<double>(kFrame * kFrames) / 1e9;
constexpr int kRepetitions = 3;

enum class Kind { kSockets, kPlainLink, kSealedLink };

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::kSockets:
            return "blocking sockets";
        case Kind::kPlainLink:
            return "plain link";
        case Kind::kSealedLink:
            return "sealed link";
    }
    return "";
}

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Measurements of one end, from the first byte to the last.
struct Measured {
    double seconds = 0;
    double processor_seconds = 0;
};

class Meter {
  public:
    Measured stop() const {
        const std::chrono::duration<double> spent = Clock::now() - begin_;
        return {spent.count(), processor_seconds() - processor_};
    }

  private:
    Clock::time_point begin_ = Clock::now();
    double processor_ = processor_seconds();
};

template <class Value>
void tell(int pipe, const Value& value) {
    if (write(pipe, &value, sizeof value) != sizeof value) throw IoError("a pipe is closed");
}
template <class Value>
Value hear(int pipe) {
    Value value{};
    if (read(pipe, &value, sizeof value) != sizeof value) throw IoError("the other end is gone");
    return value;
}

// --- blocking sockets --------------------------------------------------------

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void receive_over_socket(int out) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener, generic, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, generic, &length) != 0) {
        throw IoError("cannot listen on the loopback");
    }
    tell(out, ntohs(address.sin_port));
    const int end = accept(listener, nullptr, nullptr);
    Buffer bytes(kFrame);
    const Meter meter;
    for (std::size_t got = 0; got < kFrame * kFrames;) {
        const ssize_t count = recv(end, bytes.data(), bytes.size(), 0);
        if (count <= 0) throw IoError("the sender is gone");
        got += static_cast<std::size_t>(count);
    }
    tell(out, meter.stop());
}

void send_over_socket(std::uint16_t port, int out) {
    const int end = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    if (connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        throw IoError("cannot connect");
    }
    const Buffer bytes(kFrame);
    const Meter meter;
    for (std::size_t sent = 0; sent < kFrame * kFrames;) {
        const std::size_t rest = std::min(kFrame, kFrame * kFrames - sent);
        const ssize_t count = send(end, bytes.data(), rest, MSG_NOSIGNAL);
        if (count <= 0) throw IoError("the receiver is gone");
        sent += static_cast<std::size_t>(count);
    }
    tell(out, meter.stop());
}

// --- links -------------------------------------------------------------------

TransportOptions options_of(Kind kind, std::uint8_t n) {
    TransportOptions options;
    if (kind == Kind::kSealedLink) options.session = bench::link_session(n);
    return options;
}

/// The next event of this kind; others are dropped.
template <class Kind>
Kind await(EventQueue& queue) {
    const auto until = Clock::now() + std::chrono::minutes{2};
    while (auto event = queue.take(until)) {
        if (auto* found = std::get_if<Kind>(&*event)) return *found;
        if (std::holds_alternative<event::LinkClosed>(*event)) break;
        if (std::holds_alternative<event::DialFailed>(*event)) break;
    }
    throw IoError("the link is gone");
}

void receive_over_link(Kind kind, int out) {
    EventQueue queue;
    TransportOptions options = options_of(kind, 1);
    options.listen = Endpoint{"127.0.0.1", 0};
    TcpTransport transport(options, queue.sink());
    tell(out, transport.listening_port());
    await<event::LinkOpened>(queue);
    const Meter meter;
    for (std::size_t got = 0; got < kFrame * kFrames;) {
        const auto received = await<event::FrameReceived>(queue);
        transport.taken(received.link);
        got += received.frame->size();
    }
    tell(out, meter.stop());
    await<event::LinkClosed>(queue);  // the sender knows that everything has arrived
    queue.close();
}

void send_over_link(Kind kind, std::uint16_t port, int out) {
    EventQueue queue;
    TcpTransport transport(options_of(kind, 2), queue.sink());
    transport.dial({"127.0.0.1", port});
    const LinkId link = await<event::LinkOpened>(queue).link;
    const auto frame = std::make_shared<const Buffer>(kFrame);
    const Meter meter;
    std::size_t sent = 0;
    for (; sent < kWindow; ++sent) transport.send(link, frame);
    for (std::size_t written = 0; written < kFrames; ++written) {
        await<event::FrameWritten>(queue);
        if (sent++ < kFrames) transport.send(link, frame);
    }
    tell(out, meter.stop());
    transport.close(link);
    await<event::LinkClosed>(queue);
    queue.close();
}

// --- both ends ---------------------------------------------------------------

template <class Work>
pid_t start(const Work& work) {
    const pid_t child = fork();
    if (child != 0) return child;
    try {
        work();
    } catch (const std::exception& error) {
        fmt::print(stderr, "link_bench: {}\n", error.what());
        _exit(1);
    }
    _exit(0);
}

struct Ends {
    Measured receiver;
    Measured sender;
};

Ends measure(Kind kind) {
    int from_receiver[2];
    int from_sender[2];
    if (pipe(from_receiver) != 0 || pipe(from_sender) != 0) throw IoError("cannot make a pipe");
    const bool is_link = kind != Kind::kSockets;
    const pid_t receiver = start([&] {
        is_link ? receive_over_link(kind, from_receiver[1]) : receive_over_socket(from_receiver[1]);
    });
    close(from_receiver[1]);
    const auto port = hear<std::uint16_t>(from_receiver[0]);
    const pid_t sender = start([&] {
        is_link ? send_over_link(kind, port, from_sender[1])
                : send_over_socket(port, from_sender[1]);
    });
    close(from_sender[1]);
    const Ends ends{.receiver = hear<Measured>(from_receiver[0]),
                    .sender = hear<Measured>(from_sender[0])};
    for (const pid_t child : {receiver, sender}) waitpid(child, nullptr, 0);
    for (const int pipe : {from_receiver[0], from_sender[0]}) close(pipe);
    return ends;
}

// --- ciphers -----------------------------------------------------------------

/// Processor seconds for each GB of pieces of a frame's size.
template <class Seal>
double seconds_per_gigabyte(const Seal& seal) {
    constexpr std::size_t kPieces = 2'048;
    const double begin = processor_seconds();
    for (std::size_t i = 0; i < kPieces; ++i) seal(i);
    return (processor_seconds() - begin) / (static_cast<double>(kPieces * kFrame) / 1e9);
}

void print_ciphers() {
    if (sodium_init() < 0)
        throw Error("libsodium cannot be used");  // selects the fast implementations
    const std::vector<unsigned char> plain(kFrame, 1);
    std::vector<unsigned char> sealed(kFrame + 64);
    std::array<unsigned char, 32> key{};
    std::array<unsigned char, 24> nonce{};
    crypto_secretstream_xchacha20poly1305_state stream;
    crypto_secretstream_xchacha20poly1305_init_push(&stream, nonce.data(), key.data());
    const double secretstream = seconds_per_gigabyte([&](std::size_t) {
        crypto_secretstream_xchacha20poly1305_push(&stream, sealed.data(), nullptr, plain.data(),
                                                   plain.size(), nullptr, 0, 0);
    });
    const double aead = seconds_per_gigabyte([&](std::size_t i) {
        nonce[0] = static_cast<unsigned char>(i);
        nonce[1] = static_cast<unsigned char>(i >> 8);
        crypto_aead_chacha20poly1305_ietf_encrypt(sealed.data(), nullptr, plain.data(),
                                                  plain.size(), nullptr, 0, nullptr, nonce.data(),
                                                  key.data());
    });
    const auto ours = [&](Cipher cipher) {
        const auto sealer =
            make_sealer(cipher, std::as_bytes(std::span{key}),
                        std::as_writable_bytes(std::span{sealed}).first(start_bytes(cipher)));
        const auto to = std::as_writable_bytes(std::span{sealed}).first(kFrame + kSealBytes);
        return seconds_per_gigabyte([&](std::size_t) {
            sealer->seal(std::array{std::as_bytes(std::span{plain})}, PieceTag::kMessage, to);
        });
    };
    fmt::print(
        "\nsealing alone, processor s/GB: links' AES-256-GCM {:.2f}, links' XChaCha20 {:.2f}; "
        "secretstream (XChaCha20-Poly1305) {:.2f}, ChaCha20-Poly1305 with a counter {:.2f}\n",
        ours(Cipher::kAes256Gcm), ours(Cipher::kXChaCha20), secretstream, aead);
}

void print_handshakes() {
    constexpr int kHandshakes = 500;
    const SessionOptions dialler = bench::link_session(1);
    const SessionOptions listener = bench::link_session(2);
    const formats::UtcSeconds now = dialler.ticket->ticket.issued;
    const double begin = processor_seconds();
    for (int i = 0; i < kHandshakes; ++i) {
        Handshake there(dialler, Side::kDialler);
        Handshake here(listener, Side::kListener);
        const Buffer proof = there.take(here.take(there.begin(), now, {}), now, {});
        const Buffer verdict = there.take(here.take(proof, now, {}), now, {});
        here.take(verdict, now, {});
        if (!here.is_proven()) throw Error("two honest ends do not link");
    }
    fmt::print("a handshake, processor ms for both ends: {:.2f}\n",
               1e3 * (processor_seconds() - begin) / kHandshakes);
}

void print_links() {
    fmt::print("{:>6} frames of 256 KiB    {:>8} {:>14} {:>16}\n", kFrames, "MB/s", "sender s/GB",
               "receiver s/GB");
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
        for (const Kind kind : {Kind::kSockets, Kind::kPlainLink, Kind::kSealedLink}) {
            const Ends ends = measure(kind);
            fmt::print("{:<24} {:>8.0f} {:>14.3f} {:>16.3f}\n", name_of(kind),
                       1e3 * kGigabytes / ends.receiver.seconds,
                       ends.sender.processor_seconds / kGigabytes,
                       ends.receiver.processor_seconds / kGigabytes);
            std::fflush(stdout);
        }
    }
}

}  // namespace
}  // namespace dedloc::net

int main() {
    try {
        dedloc::net::print_links();  // forks, so it must run before a thread is started
        dedloc::net::print_ciphers();
        dedloc::net::print_handshakes();
    } catch (const std::exception& error) {
        fmt::print(stderr, "link_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
