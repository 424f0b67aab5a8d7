#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "peer/base/check.hpp"
#include "tests/bench/rank_processes.hpp"

namespace dedloc::bench {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int listening_socket(std::uint16_t& port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    DEDLOC_CHECK(bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     listen(socket, 1) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0,
                 "there is no port");
    port = ntohs(address.sin_port);
    return socket;
}

void send_all(int socket, const std::vector<char>& piece, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t sent = send(socket, piece.data(), std::min(bytes, piece.size()), 0);
        DEDLOC_CHECK(sent > 0, "the next process is there");
        bytes -= static_cast<std::size_t>(sent);
    }
}

void receive_all(int socket, std::vector<char>& piece, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t got = recv(socket, piece.data(), std::min(bytes, piece.size()), 0);
        DEDLOC_CHECK(got > 0, "the process before is there");
        bytes -= static_cast<std::size_t>(got);
    }
}

}  // namespace

Timed socket_rounds(std::size_t ranks, std::size_t elements, std::size_t rounds) {
    const std::size_t bytes = 2 * (ranks - 1) * elements * sizeof(float) / ranks;
    std::vector<std::uint16_t> ports(ranks);
    std::vector<int> listeners;
    for (std::uint16_t& port : ports) listeners.push_back(listening_socket(port));
    const Timed timed = run_ranks(ranks, [&](std::size_t rank, std::size_t all) {
        const int next = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address = loopback(ports[(rank + 1) % all]);
        DEDLOC_CHECK(connect(next, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
                     "the next process listens");
        const int before = accept(listeners[rank], nullptr, nullptr);
        std::vector<char> outgoing(kPiece, 'x');
        std::vector<char> incoming(kPiece);
        std::vector<RankRound> result;
        for (std::size_t round = 0; round < rounds; ++round) {
            // A message that has gone around the ring shows that all processes are ready.
            for (std::size_t hop = 0; hop < all; ++hop) {
                send_all(next, outgoing, 1);
                receive_all(before, incoming, 1);
            }
            result.push_back(timed_round([&] {
                std::thread sender([&] { send_all(next, outgoing, bytes); });
                receive_all(before, incoming, bytes);
                sender.join();
            }));
        }
        close(next);
        close(before);
        return result;
    });
    for (const int listener : listeners) close(listener);
    return timed;
}

}  // namespace dedloc::bench
