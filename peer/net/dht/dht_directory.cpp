// One thread alternates between act(), which sends the requests that are due, and read_alerts(),
// which processes libtorrent's answers; join(), leave(), publish() and new alerts wake it. The
// request intervals depend on whether any peer was found and for how long (Rhythm). Replies to one
// lookup come one by one; their union is reported whenever it grows. Voters of the signed head
// always come first in a report, because announcements are not authenticated.
#include "peer/net/dht/dht_directory.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <libtorrent/alert_types.hpp>
#include <libtorrent/bencode.hpp>
#include <libtorrent/session.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/net/dht/dht_session.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/networks.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::net {

namespace lt = libtorrent;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

/// Intervals of one request: until a peer is found, in the first two minutes (alone) and after them
/// (long_alone); then in the two minutes after the first peer was found (young) and later
/// (settled).
struct Rhythm {
    Clock::duration alone, long_alone, young, settled;
};
constexpr auto kYouth = 2min;
/// Lookup of peers. A young routing table has few nodes, so only the union of several lookups is
/// complete. Later lookups keep the seed's table filled and find a peer with a new address.
constexpr Rhythm kLook{500ms, 2s, 5s, 10s};
/// Lookup of the swarm's head, which names the voters. It never stops, so that a backbone that
/// comes back is found within seconds. Here "alone" means that no head was found yet.
constexpr Rhythm kLookForHead{500ms, 5s, 5s, 5s};
/// Announcement. Alone: the seed may just have come back. Young: it should be stored on more nodes
/// than the seed. A stored announcement lives 45 minutes, but a restarted seed has lost it.
constexpr Rhythm kAnnounce{3s, 5s, 15s, 2min};
/// Ping of each seed. A libtorrent node that knows three other nodes, or whose first request was
/// not answered, never contacts a seed again. A seed that has restarted without its state would
/// then be alone with the announcements that came after it.
constexpr Rhythm kAskSeed{2s, 3s, 3s, 3s};
/// Publication of the swarm's head, which the storing nodes forget after two hours.
constexpr Rhythm kPublish{2s, 5s, 5s, 20s};
/// Most endpoints of one lookup.
constexpr std::size_t kMaxEndpoints = 512;

Clock::duration pick(const Rhythm& rhythm, bool is_alone, bool is_young) {
    if (is_alone) return is_young ? rhythm.alone : rhythm.long_alone;
    return is_young ? rhythm.young : rhythm.settled;
}

lt::sha1_hash info_hash_of(const RunId& run) {
    return lt::sha1_hash(reinterpret_cast<const char*>(run.bytes.data()));
}

std::array<char, 32> key_of(const PeerKey& peer) {
    std::array<char, 32> key{};
    std::memcpy(key.data(), peer.bytes.data(), key.size());
    return key;
}

/// The bytes that BEP 44 requires to be signed for a mutable item of this value.
std::string what_is_signed(const std::string& salt, std::int64_t sequence, const lt::entry& value) {
    std::string text = "4:salt" + std::to_string(salt.size()) + ":" + salt + "3:seqi" +
                       std::to_string(sequence) + "e1:v";
    lt::bencode(std::back_inserter(text), value);
    return text;
}

}  // namespace

class DhtDirectory::Impl {
  public:
    Impl(const DhtDirectoryOptions& options, EventSink sink);
    ~Impl();
    std::optional<std::uint16_t> map_port(std::uint16_t port, std::chrono::milliseconds timeout);
    void unmap_port(bool is_elsewhere);
    void publish(const wire::SwarmHead& head, const KeyPair& project);
    std::optional<wire::SwarmHead> head() const;
    void join(std::uint16_t port);
    void leave();

  private:
    /// A head to publish and the key that signs it.
    struct Word {
        wire::SwarmHead head;
        KeyPair project;
    };
    struct Search {
        std::uint16_t port = 0;
        Clock::time_point since;
        std::optional<Clock::time_point> found_at;
        Clock::time_point next_look;
        Clock::time_point next_head;
        Clock::time_point next_announce;
        Clock::time_point next_seed;
        Clock::time_point next_put;
        std::set<Endpoint> answer;  ///< union of the replies to the latest look
    };

    void run();
    Search begin_search(std::uint16_t port) const;
    Clock::time_point act(Clock::time_point now);
    void read_alerts();
    std::optional<Word> current_word() const {
        const std::lock_guard lock(mutex_);
        return word_;
    }
    void put(const Word& word);
    bool take_head(const lt::dht_mutable_item_alert& alert);
    void report();
    void ask_routers(std::uint16_t port);
    void take_mapping(const lt::portmap_alert& alert);
    void take_reply(const lt::dht_get_peers_reply_alert& reply);
    bool is_own(const Endpoint& endpoint) const;

    const RunId run_;
    const std::optional<PeerKey> project_;
    const lt::sha1_hash hash_;
    const std::vector<Endpoint> seeds_;
    const EventSink sink_;

    mutable std::mutex mutex_;  ///< guards the members up to head_
    std::condition_variable woken_;
    bool is_stopping_ = false;
    bool has_alerts_ = false;
    std::optional<std::uint16_t> wanted_;  ///< port to announce (0: none); nothing: not joined
    bool is_wish_new_ = false;
    std::map<lt::port_mapping_t, std::uint16_t> mapped_;  ///< the routers' TCP ports
    std::condition_variable port_mapped_;
    std::optional<Word> word_;
    bool is_word_new_ = false;
    std::optional<wire::SwarmHead> head_;  ///< the newest one found

    std::optional<std::vector<lt::port_mapping_t>> asked_;  ///< used by map_port() only

    // Used by the thread only.
    std::optional<Search> search_;  ///< nothing: not joined
    bool is_bootstrapped_ = false;
    std::set<std::string> own_addresses_;
    DhtSession dht_;
    std::thread thread_;
};

namespace {

DhtSessionOptions session_options(const DhtDirectoryOptions& options) {
    if (options.seeds.empty()) throw InputError("the run names no DHT seed");
    DhtSessionOptions session;
    session.seeds = parse_seeds(options.seeds);
    session.listen = options.listen;
    if (session.listen.host.empty()) {
        const bool is_one_host = std::ranges::all_of(session.seeds, [](const Endpoint& seed) {
            return platform::is_loopback_host(seed.host);
        });
        session.listen.host = is_one_host ? "127.0.0.1" : "::";
    }
    if (!is_numeric_host(session.listen.host)) {
        throw InputError("cannot listen on \"" + session.listen.host +
                         "\" for the DHT: it is not a numeric address");
    }
    return session;
}

}  // namespace

DhtDirectory::Impl::Impl(const DhtDirectoryOptions& options, EventSink sink)
    : run_(options.run),
      project_(options.project),
      hash_(info_hash_of(options.run)),
      seeds_(parse_seeds(options.seeds)),
      sink_(std::move(sink)),
      dht_(open_dht_session(session_options(options))) {
    own_addresses_.insert(dht_.own_addresses.begin(), dht_.own_addresses.end());
    dht_.session.set_alert_notify([this] {
        {
            const std::lock_guard lock(mutex_);
            has_alerts_ = true;
        }
        woken_.notify_one();
    });
    const platform::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

DhtDirectory::Impl::~Impl() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    woken_.notify_one();
    thread_.join();
    dht_.session.set_alert_notify({});
}

/// The returned mapping numbers are valid for all routers and differ from libtorrent's own ones.
void DhtDirectory::Impl::ask_routers(std::uint16_t port) {
    lt::settings_pack mappers;
    mappers.set_bool(lt::settings_pack::enable_upnp, true);
    mappers.set_bool(lt::settings_pack::enable_natpmp, true);
    dht_.session.apply_settings(std::move(mappers));
    asked_ = dht_.session.add_port_mapping(lt::portmap_protocol::tcp, port, port);
}

std::optional<std::uint16_t> DhtDirectory::Impl::map_port(std::uint16_t port,
                                                          std::chrono::milliseconds timeout) {
    if (!asked_) ask_routers(port);
    std::unique_lock lock(mutex_);
    std::optional<std::uint16_t> agreed;
    port_mapped_.wait_for(lock, timeout, [&] {
        for (const lt::port_mapping_t mapping : *asked_) {
            const auto found = mapped_.find(mapping);
            if (found != mapped_.end()) agreed = found->second;
        }
        return agreed.has_value();
    });
    return agreed;
}

/// libtorrent gives up on a router that has not answered, and looks for none on another network:
/// then its mappers are started anew. They have nothing to end here then. Else a late request to
/// end the mapping could end the next one.
void DhtDirectory::Impl::unmap_port(bool is_elsewhere) {
    if (!asked_) return;
    bool is_mapped = false;
    {
        const std::lock_guard lock(mutex_);
        for (const lt::port_mapping_t mapping : *asked_) {
            if (mapped_.erase(mapping) > 0) is_mapped = true;
        }
    }
    for (const lt::port_mapping_t mapping : *asked_) dht_.session.delete_port_mapping(mapping);
    asked_.reset();
    if (is_mapped && !is_elsewhere) return;
    lt::settings_pack mappers;
    mappers.set_bool(lt::settings_pack::enable_upnp, false);
    mappers.set_bool(lt::settings_pack::enable_natpmp, false);
    dht_.session.apply_settings(std::move(mappers));
}

void DhtDirectory::Impl::take_mapping(const lt::portmap_alert& alert) {
    if (alert.map_protocol != lt::portmap_protocol::tcp) return;
    {
        const std::lock_guard lock(mutex_);
        mapped_[alert.mapping] = static_cast<std::uint16_t>(alert.external_port);
    }
    port_mapped_.notify_all();
}

void DhtDirectory::Impl::publish(const wire::SwarmHead& head, const KeyPair& project) {
    {
        const std::lock_guard lock(mutex_);
        word_ = Word{head, project};
        is_word_new_ = true;
    }
    woken_.notify_one();
}

std::optional<wire::SwarmHead> DhtDirectory::Impl::head() const {
    const std::lock_guard lock(mutex_);
    return head_;
}

/// libtorrent calls `sign` on its thread once it has found the nodes that will store the item.
void DhtDirectory::Impl::put(const Word& word) {
    const auto sign = [word](lt::entry& value, std::array<char, 64>& signature,
                             std::int64_t& sequence, const std::string& salt) {
        const Buffer bytes = wire::encode(word.head);
        value = std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        sequence = wire::sequence_of(word.head);
        const Signature ours = word.project.sign(bytes_of(what_is_signed(salt, sequence, value)));
        std::memcpy(signature.data(), ours.data(), signature.size());
    };
    dht_.session.dht_put_item(key_of(word.project.public_key()), sign, wire::salt_of(run_));
}

/// Takes a head whose signature libtorrent has verified. False: it is not a head of this run, or it
/// is older than the known one.
bool DhtDirectory::Impl::take_head(const lt::dht_mutable_item_alert& alert) {
    if (!project_ || alert.key != key_of(*project_)) return false;
    if (alert.item.type() != lt::entry::string_t) return false;
    const auto head = wire::decode_swarm_head(bytes_of(alert.item.string()));
    if (!head || head->run != run_) return false;
    const std::lock_guard lock(mutex_);
    if (head_ && wire::sequence_of(*head) < wire::sequence_of(*head_)) return false;
    head_ = head;
    return true;
}

/// Gives the sink the voters of the signed head, then the announced peers. Announcements are not
/// authenticated, so they must neither displace nor delay the voters.
void DhtDirectory::Impl::report() {
    std::vector<Endpoint> found;
    if (const auto head = this->head()) {
        std::ranges::copy_if(head->backbones, std::back_inserter(found),
                             [this](const Endpoint& voter) { return !is_own(voter); });
    }
    const std::set<Endpoint> voters(found.begin(), found.end());
    std::ranges::set_difference(search_->answer, voters, std::back_inserter(found));
    if (found.empty()) return;
    if (!search_->found_at) {
        search_->found_at = Clock::now();
        search_->next_look = *search_->found_at + kLook.young;
    }
    sink_(event::EndpointsFound{std::move(found)});
}

void DhtDirectory::Impl::join(std::uint16_t port) {
    {
        const std::lock_guard lock(mutex_);
        wanted_ = port;
        is_wish_new_ = true;
    }
    woken_.notify_one();
}

void DhtDirectory::Impl::leave() {
    {
        const std::lock_guard lock(mutex_);
        wanted_.reset();
        is_wish_new_ = true;
    }
    woken_.notify_one();
}

void DhtDirectory::Impl::run() {
    pthread_setname_np(pthread_self(), "dedloc-dht");
    while (true) {
        const Clock::time_point next = act(Clock::now());
        {
            std::unique_lock lock(mutex_);
            woken_.wait_until(lock, next, [&] {
                return is_stopping_ || has_alerts_ || is_wish_new_ || is_word_new_;
            });
            if (is_stopping_) return;
            has_alerts_ = is_word_new_ = false;
            if (std::exchange(is_wish_new_, false)) {
                if (wanted_ && search_) {
                    search_->port = *wanted_;
                    search_->next_announce = Clock::now();
                } else {
                    search_.reset();
                    if (wanted_) search_ = begin_search(*wanted_);
                }
            }
        }
        read_alerts();
    }
}

DhtDirectory::Impl::Search DhtDirectory::Impl::begin_search(std::uint16_t port) const {
    const auto now = Clock::now();
    Search search;
    search.port = port;
    search.since = search.next_look = search.next_head = now;
    search.next_announce = is_bootstrapped_ ? now : now + kAnnounce.alone;
    search.next_seed = now + kAskSeed.alone;
    return search;
}

/// Sends the requests that are due; returns the time of the next one.
Clock::time_point DhtDirectory::Impl::act(Clock::time_point now) {
    if (!search_) return now + 1h;
    const bool is_alone = !search_->found_at;
    const bool is_young = now < search_->found_at.value_or(search_->since) + kYouth;
    if (now >= search_->next_look) {
        search_->answer.clear();
        dht_.session.dht_get_peers(hash_);
        search_->next_look = now + pick(kLook, is_alone, is_young);
    }
    if (project_ && now >= search_->next_head) {
        dht_.session.dht_get_item(key_of(*project_), wire::salt_of(run_));
        search_->next_head = now + pick(kLookForHead, !head(), now < search_->since + kYouth);
        report();  // reports the known voters even while the DHT does not answer
    }
    if (search_->port != 0 && now >= search_->next_announce) {
        dht_.session.dht_announce(hash_, search_->port);
        search_->next_announce = now + pick(kAnnounce, is_alone, is_young);
    }
    if (now >= search_->next_seed) {
        for (const Endpoint& seed : seeds_) dht_.session.add_dht_node({seed.host, seed.port});
        search_->next_seed = now + pick(kAskSeed, is_alone, is_young);
    }
    auto next = std::min(search_->next_look, search_->next_seed);
    if (project_) next = std::min(next, search_->next_head);
    if (const auto word = current_word()) {
        if (now >= search_->next_put) {
            put(*word);
            search_->next_put = now + pick(kPublish, is_alone, is_young);
        }
        next = std::min(next, search_->next_put);
    }
    return search_->port != 0 ? std::min(next, search_->next_announce) : next;
}

void DhtDirectory::Impl::read_alerts() {
    std::vector<lt::alert*> alerts;
    dht_.session.pop_alerts(&alerts);
    const std::size_t known = search_ ? search_->answer.size() : 0;
    bool is_head_found = false;
    for (const lt::alert* alert : alerts) {
        if (lt::alert_cast<lt::dht_bootstrap_alert>(alert)) {
            is_bootstrapped_ = true;  // also posted after 15 s without an answer from any seed
            if (search_) search_->next_announce = Clock::now();
        }
        if (const auto* external = lt::alert_cast<lt::external_ip_alert>(alert)) {
            own_addresses_.insert(external->external_address.to_string());
        }
        if (const auto* listening = lt::alert_cast<lt::listen_succeeded_alert>(alert)) {
            own_addresses_.insert(listening->address.to_string());
        }
        const auto* item = lt::alert_cast<lt::dht_mutable_item_alert>(alert);
        if (item && take_head(*item)) is_head_found = true;
        if (const auto* mapping = lt::alert_cast<lt::portmap_alert>(alert)) take_mapping(*mapping);
        const auto* reply = lt::alert_cast<lt::dht_get_peers_reply_alert>(alert);
        if (reply && search_ && reply->info_hash == hash_) take_reply(*reply);
    }
    if (search_ && (is_head_found || search_->answer.size() > known)) report();
}

void DhtDirectory::Impl::take_reply(const lt::dht_get_peers_reply_alert& reply) {
    for (const lt::tcp::endpoint& peer : reply.peers()) {
        Endpoint endpoint{peer.address().to_string(), peer.port()};
        if (endpoint.port == 0 || is_own(endpoint)) continue;
        if (search_->answer.size() >= kMaxEndpoints) return;
        search_->answer.insert(std::move(endpoint));
    }
}

bool DhtDirectory::Impl::is_own(const Endpoint& endpoint) const {
    return endpoint.port == search_->port && own_addresses_.contains(endpoint.host);
}

wire::SwarmHead head_of(const RunId& run, const action::Settled& settled,
                        std::span<const Endpoint> voters) {
    wire::SwarmHead head{.run = run,
                         .generation = settled.generation,
                         .step = settled.step,
                         .state = settled.digest,
                         .backbones = {}};
    for (const Endpoint& voter : voters) {
        if (head.backbones.size() == wire::kMaxHeadEndpoints) break;
        if (is_dialable_host(voter.host) && voter.port != 0) head.backbones.push_back(voter);
    }
    return head;
}

DhtDirectory::DhtDirectory(const DhtDirectoryOptions& options, EventSink sink)
    : impl_(std::make_unique<Impl>(options, std::move(sink))) {}

DhtDirectory::~DhtDirectory() = default;

std::optional<std::uint16_t> DhtDirectory::map_port(std::uint16_t port,
                                                    std::chrono::milliseconds timeout) {
    return impl_->map_port(port, timeout);
}

void DhtDirectory::unmap_port(bool is_elsewhere) {
    impl_->unmap_port(is_elsewhere);
}

void DhtDirectory::publish(const wire::SwarmHead& head, const KeyPair& project) {
    impl_->publish(head, project);
}

std::optional<wire::SwarmHead> DhtDirectory::head() const {
    return impl_->head();
}

void DhtDirectory::join(std::uint16_t port) {
    impl_->join(port);
}

void DhtDirectory::leave() {
    impl_->leave();
}

}  // namespace dedloc::net
