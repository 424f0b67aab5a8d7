// The settings of a project, wherever they are written: its name, its public address, and ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/platform/ports.hpp"

namespace dedloc::server {

/// Links of a backbone by default.
inline constexpr std::size_t kDefaultLinks = 10'000;

/// Seats of one account and of one network: the defaults, and the most that may be set.
inline constexpr std::uint64_t kDefaultSeatsOfAccount = 64;
inline constexpr std::uint64_t kDefaultSeatsOfNetwork = 128;
inline constexpr std::uint64_t kMaxSeats = 1'000'000;
/// Rates of a device in FLOP/s that may be set.
inline constexpr double kMinDeviceRate = 1e9;
inline constexpr double kMaxDeviceRate = 1e18;

/// What `dedloc project create` writes, and an administrator may change while the project is
/// stopped. The URL is the exception: volunteers' clients and peers know the project by it.
struct Settings {
    std::string name{};  ///< as volunteers see it
    std::string url{};   ///< the URL that volunteers attach to, with a slash at the end
    std::vector<platform::ListenAddress> listen{};  ///< where nginx serves the URL; numeric
    /// https: where nginx answers plain HTTP, for ACME challenges and redirection; may be empty.
    std::vector<platform::ListenAddress> redirect{};
    std::filesystem::path certificate{};      ///< PEM, the whole chain; empty: no TLS here
    std::filesystem::path certificate_key{};  ///< PEM; empty exactly if `certificate` is
    std::filesystem::path acme_webroot{};     ///< holds .well-known/acme-challenge; empty: none
    /// Addresses or networks of the proxies in front, whose X-Forwarded-For is believed.
    std::vector<std::string> proxies{};
    std::string peer_listen{};  ///< numeric address that the runs' backbones listen on
    std::string
        peer_address{};  ///< numeric, where members dial them; empty: that of the URL's host
    /// Each run takes two ports from here on: n for the DHT (UDP), n + 1 for members (TCP). 0: any.
    std::uint16_t peer_port = 0;
    /// Peers that may be linked to a run's backbone at once; 1 to platform::kMaxLinks.
    std::size_t max_links = kDefaultLinks;
    // Jobs that may have tickets at a time (gateway/seat_limits.hpp); 0: any number.
    std::uint64_t seats_per_account = kDefaultSeatsOfAccount;  ///< one account's
    std::uint64_t seats_per_network = kDefaultSeatsOfNetwork;  ///< an IPv4 /24's or IPv6 /48's
    // What a device trains at most, in FLOP/s; nothing: the fastest that was measured
    // (gateway/compute_bound.hpp).
    std::optional<double> flops_per_gpu{};   ///< one GPU
    std::optional<double> flops_per_core{};  ///< one core
    std::uint16_t server_port = 0;           ///< dedloc-server, loopback only
    std::uint16_t gateway_port = 0;          ///< dedloc-gateway
    std::uint16_t database_port = 0;         ///< mariadbd, loopback only
    // Other addresses only under an official BOINC server whose Apache is on another machine.
    std::string gateway_listen = "127.0.0.1";  ///< numeric address of dedloc-gateway
    std::string gateway_proxy = "127.0.0.1";   ///< the web server that forwards to it
    int keep_days = 7;        ///< dedloc-purge deletes what has not changed for so long
    std::string mail_from{};  ///< sender of the project's e-mail; empty: it sends none
    /// The relay that takes e-mail: an URL smtp://HOST:PORT or smtps://HOST:PORT. Empty: the
    /// program sendmail of this machine does.
    std::string mail_relay{};
    /// File with a line NAME:PASSWORD for the relay; empty: it wants none.
    std::filesystem::path mail_credentials{};
    bool operator==(const Settings&) const = default;

    /// Whether the URL's scheme is https.
    bool is_https() const { return url.starts_with("https://"); }
    /// The host in the URL: a name or an IPv4 address. An official server's may be an IPv6 address
    /// in brackets. Empty if check_settings() would refuse the URL as none.
    std::string host() const;
    /// Whether nothing but this machine can reach the project.
    bool is_loopback() const;
};

/// Refuses settings that contradict each other. Errors: InputError in one sentence.
void check_settings(const Settings& settings);

}  // namespace dedloc::server
