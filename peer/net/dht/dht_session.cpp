// The session is opened with the DHT off. When its socket listens, the bootstrap nodes are set and
// the DHT is switched on: a node that starts earlier would drop its saved state. With port 0 the
// opening is repeated if the chosen UDP port's TCP number is taken. On private networks
// libtorrent's protections that assume one node per address are switched off.
#include "peer/net/dht/dht_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <libtorrent/alert_types.hpp>
#include <libtorrent/disabled_disk_io.hpp>
#include <libtorrent/session_params.hpp>
#include <libtorrent/settings_pack.hpp>
#include <optional>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc::net {

namespace lt = libtorrent;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kListenDeadline{10};
/// libtorrent opens TCP and UDP sockets with the same port number. If any port will do, a clash of
/// one of them only means another try.
constexpr int kTriesForAnyPort = 10;

/// True if all seeds have private addresses. Then many nodes may share an address, which
/// libtorrent's protection against forged nodes forbids on the internet.
bool are_all_private(const std::vector<Endpoint>& seeds) {
    return std::ranges::all_of(seeds, [](const Endpoint& seed) {
        return seed.host == "localhost" || is_private_host(seed.host);
    });
}

bool is_everywhere(const std::string& host) {
    return host == "0.0.0.0" || host == "::";
}

/// The host "::" means both families. libtorrent does not listen on loopback for a wildcard, but
/// peers on the seed's machine use it.
std::string interfaces_of(const Endpoint& listen) {
    std::string interfaces = listen.text();
    if (listen.host == "::")
        interfaces = Endpoint{"0.0.0.0", listen.port}.text() + "," + interfaces;
    if (!is_everywhere(listen.host) || listen.port == 0) return interfaces;
    interfaces += "," + Endpoint{"127.0.0.1", listen.port}.text();
    if (listen.host == "::") interfaces += "," + Endpoint{"::1", listen.port}.text();
    return interfaces;
}

lt::settings_pack private_settings(const Endpoint& listen, bool is_private) {
    using Pack = lt::settings_pack;
    Pack pack;
    pack.set_str(Pack::listen_interfaces, interfaces_of(listen));
    // The node starts later (see above).
    pack.set_bool(Pack::enable_dht, false);
    pack.set_str(Pack::dht_bootstrap_nodes, "");
    for (const int off :
         {Pack::enable_lsd, Pack::enable_upnp, Pack::enable_natpmp, Pack::enable_incoming_tcp,
          Pack::enable_incoming_utp, Pack::enable_outgoing_tcp, Pack::enable_outgoing_utp,
          Pack::listen_system_port_fallback}) {
        pack.set_bool(off, false);
    }
    pack.set_int(Pack::max_retry_port_bind, 0);
    const auto wanted = lt::alert_category::dht | lt::alert_category::dht_operation |
                        lt::alert_category::error | lt::alert_category::status |
                        lt::alert_category::port_mapping;
    pack.set_int(Pack::alert_mask, static_cast<int>(static_cast<std::uint32_t>(wanted)));
    // The defaults ban all peers behind an address for 5 minutes after 5 queries a second, and
    // drop a busy seed's answers above 8 kB/s. With a value of 0 libtorrent would divide by zero.
    pack.set_int(Pack::dht_block_ratelimit, 1000);
    pack.set_int(Pack::dht_upload_rate_limit, 1'000'000);
    pack.set_int(Pack::dht_item_lifetime, 2 * 3600);
    if (is_private) {
        for (const int off : {Pack::dht_restrict_routing_ips, Pack::dht_restrict_search_ips,
                              Pack::dht_enforce_node_id, Pack::dht_prefer_verified_node_ids,
                              Pack::dht_ignore_dark_internet}) {
            pack.set_bool(off, false);
        }
    }
    return pack;
}

/// Waits until the session listens. Nothing on success, else the reason of the failure. With
/// `is_both`, IPv4 is enough: this machine may have no IPv6.
std::optional<std::string> await_listening(DhtSession& opened, bool is_both) {
    const auto deadline = Clock::now() + kListenDeadline;
    std::optional<std::string> failure = "no answer from the system";
    while (Clock::now() < deadline) {
        opened.session.wait_for_alert(std::chrono::milliseconds(100));
        std::vector<lt::alert*> alerts;
        opened.session.pop_alerts(&alerts);
        for (const lt::alert* alert : alerts) {
            const auto* failed = lt::alert_cast<lt::listen_failed_alert>(alert);
            if (failed && !(is_both && failed->address.is_v6())) {
                const bool is_in_use = failed->error == boost::system::errc::address_in_use;
                return is_in_use ? "the port is in use" : failed->error.message();
            }
            const auto* listening = lt::alert_cast<lt::listen_succeeded_alert>(alert);
            if (listening && listening->socket_type == lt::socket_type_t::utp) {
                opened.port = static_cast<std::uint16_t>(listening->port);
                opened.own_addresses.push_back(listening->address.to_string());
                failure.reset();
            }
        }
        if (!failure) return std::nullopt;
    }
    return failure;
}

}  // namespace

std::vector<Endpoint> parse_seeds(const std::vector<std::string>& texts) {
    std::vector<Endpoint> seeds;
    for (const std::string& text : texts) {
        const auto seed = split_host_and_port(text);
        if (!seed || seed->port == 0) {
            throw InputError(fmt::format("the DHT seed \"{}\" is not of the form HOST:PORT", text));
        }
        seeds.push_back({seed->host, seed->port});
    }
    return seeds;
}

DhtSession open_dht_session(const DhtSessionOptions& options) {
    const platform::SignalsBlocked blocked;
    const bool is_private = options.seeds.empty() ? is_private_host(options.listen.host)
                                                  : are_all_private(options.seeds);
    for (int tries = options.listen.port == 0 ? kTriesForAnyPort : 1; true; --tries) {
        lt::session_params params(private_settings(options.listen, is_private), {});
        params.dht_state = options.saved;
        params.disk_io_constructor = lt::disabled_disk_io_constructor;  // no torrents
        DhtSession opened{lt::session(std::move(params)), 0, {}};
        const auto failure = await_listening(opened, options.listen.host == "::");
        if (failure && tries > 1) continue;
        if (failure) {
            throw IoError(fmt::format("cannot listen on UDP {} for the DHT: {}",
                                      options.listen.text(), *failure));
        }
        std::string bootstrap;
        for (const Endpoint& seed : options.seeds) bootstrap += seed.text() + ",";
        if (bootstrap.empty()) {
            const std::string host =
                is_everywhere(options.listen.host) ? "127.0.0.1" : options.listen.host;
            bootstrap = Endpoint{host, opened.port}.text();
        }
        lt::settings_pack start;
        start.set_str(lt::settings_pack::dht_bootstrap_nodes, bootstrap);
        start.set_bool(lt::settings_pack::enable_dht, true);
        opened.session.apply_settings(std::move(start));
        return opened;
    }
}

}  // namespace dedloc::net
