// A seed is a plain DHT session whose bootstrap node is the seed itself, under `address` or the
// address that it listens on. The state file is libtorrent's own encoding of the routing table.
#include "peer/net/dht/dht_seed.hpp"

#include <fmt/format.h>

#include <libtorrent/session.hpp>
#include <libtorrent/session_params.hpp>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/dht/dht_session.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::net {

namespace lt = libtorrent;

namespace {

/// Limit of a state file, which normally has a few kilobytes.
constexpr std::size_t kMaxStateBytes = std::size_t{1} << 20;

lt::dht::dht_state read_state(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return {};
    try {
        const std::string text = platform::read_text(file, kMaxStateBytes);
        const std::vector<char> bytes{text.begin(), text.end()};
        return lt::read_session_params(bytes, lt::session_handle::save_dht_state).dht_state;
    } catch (const std::exception& error) {
        log_warning("the saved DHT state in {} cannot be read, starting without it: {}",
                    file.string(), error.what());
        return {};
    }
}

DhtSessionOptions session_options(const DhtSeedOptions& options) {
    DhtSessionOptions session;
    session.listen = options.listen;
    if (!options.address.empty()) session.seeds = parse_seeds({options.address});
    if (!options.state_file.empty()) session.saved = read_state(options.state_file);
    return session;
}

}  // namespace

class DhtSeed::Impl {
  public:
    explicit Impl(const DhtSeedOptions& options)
        : file_(options.state_file), dht_(open_dht_session(session_options(options))) {}

    std::uint16_t port() const { return dht_.port; }

    void save() {
        if (file_.empty()) return;
        const auto state = dht_.session.session_state(lt::session_handle::save_dht_state);
        const std::vector<char> bytes =
            lt::write_session_params_buf(state, lt::session_handle::save_dht_state);
        platform::replace_file(file_, std::string_view{bytes.data(), bytes.size()});
    }

  private:
    const std::filesystem::path file_;
    DhtSession dht_;
};

DhtSeed::DhtSeed(const DhtSeedOptions& options) : impl_(std::make_unique<Impl>(options)) {}

DhtSeed::~DhtSeed() {
    try {
        save();
    } catch (const Error& error) {
        log_warning("{}", error.what());
    }
}

std::uint16_t DhtSeed::port() const {
    return impl_->port();
}

void DhtSeed::save() const {
    impl_->save();
}

}  // namespace dedloc::net
