// A blocking socket for tests that send and read raw bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "peer/base/bytes.hpp"

namespace dedloc::net {

class BareSocket {
  public:
    /// Connects to this port of 127.0.0.1, from a given loopback address.
    explicit BareSocket(std::uint16_t port, const std::string& from = "127.0.0.1")
        : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address = address_of(from, 0);
        REQUIRE(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
                0);
        address = address_of("127.0.0.1", port);
        REQUIRE(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address),
                          sizeof(address)) == 0);
    }
    ~BareSocket() { ::close(descriptor_); }
    BareSocket(const BareSocket&) = delete;
    BareSocket& operator=(const BareSocket&) = delete;

    void write(const void* bytes, std::size_t size) const {
        REQUIRE(::send(descriptor_, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
    }
    void write(std::span<const std::byte> bytes) const { write(bytes.data(), bytes.size()); }
    /// Reads exactly `size` bytes; nothing if the other end hangs up first or after ten seconds.
    std::optional<Buffer> read(std::size_t size) const {
        Buffer bytes(size);
        for (std::size_t got = 0; got < size;) {
            pollfd wait{descriptor_, POLLIN, 0};
            if (::poll(&wait, 1, 10'000) != 1) return {};
            const ssize_t count = ::recv(descriptor_, bytes.data() + got, size - got, 0);
            if (count <= 0) return {};
            got += static_cast<std::size_t>(count);
        }
        return bytes;
    }
    /// True as soon as there is something to read, or the other end has hung up; false after so
    /// many milliseconds.
    bool has_more(int milliseconds) const {
        pollfd wait{descriptor_, POLLIN, 0};
        return ::poll(&wait, 1, milliseconds) == 1;
    }
    /// Reads and drops everything; true when the other end has hung up.
    bool is_hung_up() const {
        std::byte byte{};
        while (true) {
            pollfd wait{descriptor_, POLLIN, 0};
            if (::poll(&wait, 1, 10'000) != 1) return false;
            if (::recv(descriptor_, &byte, 1, 0) <= 0) return true;
        }
    }

  private:
    static sockaddr_in address_of(const std::string& host, std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        REQUIRE(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
        return address;
    }
    int descriptor_;
};

}  // namespace dedloc::net
