#include "tests/sim/world.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::sim {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

KeyPair key_of(std::uint64_t seed, std::size_t id) {
    std::array<std::byte, 32> bytes;
    Random random = Random{seed}.split(1'000 + id);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
    return KeyPair::from_seed(bytes);
}

UpdateScalars scalars_at(StepIndex step) {
    return state::lamb_scalars(
        {.learning_rate = 0.05, .warmup_steps = 2, .total_steps = 1'000, .weight_decay = 0}, step);
}

}  // namespace

struct World::Node {
    KeyPair key;
    Role role;
    Duration micro_batch_time;
    bool is_reachable;
    Endpoint endpoint{};
    std::unique_ptr<Peer> peer{};
    std::unique_ptr<QuadraticTrainer> trainer{};
    std::uint64_t life = 0;  ///< events for an earlier one are void
    bool is_alive = false;
    bool is_hung = false;
    bool is_suspended = false;
    bool is_finished = false;
    TimePoint tick_at = kNever;
    std::uint64_t frames_sent = 0;
    std::set<LinkId> links{};
};

World::World(std::uint64_t seed, const RoundRules& rules, const LinkProfile& profile)
    : rules_(rules), profile_(profile), random_(Random{seed}.split(1)), seed_(seed) {
    announce();
}

World::~World() = default;

// --- peers come and go -------------------------------------------------------

World::Id World::add(Node node) {
    const Id id = nodes_.size();
    node.endpoint = {"10.0.0." + std::to_string(id), 4'000};
    nodes_.push_back(std::make_unique<Node>(std::move(node)));
    start(id);
    return id;
}

World::Id World::add_backbone() {
    DEDLOC_CHECK(nodes_.empty(), "the backbone comes first");
    return add({.key = key_of(seed_, 0),
                .role = Role::kBackbone,
                .micro_batch_time = {},
                .is_reachable = true});
}

World::Id World::add_trainer(Duration micro_batch_time, bool is_reachable) {
    return add({.key = key_of(seed_, nodes_.size()),
                .role = Role::kTrainer,
                .micro_batch_time = micro_batch_time,
                .is_reachable = is_reachable});
}

void World::start(Id id) {
    Node& node = *nodes_[id];
    node.is_alive = true;
    node.is_finished = false;
    ++node.life;
    PeerConfig config{.run = RunId{},
                      .coordinator = nodes_[0]->key.public_key(),
                      .role = node.role,
                      .result_name = "seat_" + std::to_string(id),
                      .listening_port = node.is_reachable ? node.endpoint.port : std::uint16_t{0},
                      .rules = rules_,
                      .random_seed = random_.next(),
                      .scalars_of = scalars_at};
    node.peer = std::make_unique<Peer>(std::move(config), node.key);
    const auto life = node.life;
    node.trainer = std::make_unique<QuadraticTrainer>(
        QuadraticTrainer::Settings{.elements = rules_.elements,
                                   .micro_batch_time = node.micro_batch_time,
                                   .seed = random_.next(),
                                   .starts_with_state = node.role == Role::kBackbone},
        [this, id, life](Event e) { at(now_, [=, this] { deliver(id, life, e); }); },
        [this, id, life](Duration wait, const std::function<void()>& what) {
            at(now_ + wait, [=, this] {
                if (nodes_[id]->is_alive && nodes_[id]->life == life) what();
            });
        });
    node.trainer->start();
    deliver(id, life, event::Tick{});
}

void World::drop_links(Id id) {
    for (const LinkId link : std::exchange(nodes_[id]->links, {})) close(link);
}

void World::crash(Id id) {
    Node& node = *nodes_[id];
    node.is_alive = false;
    drop_links(id);
}

void World::restart(Id id) {
    DEDLOC_CHECK(!nodes_[id]->is_alive, "only the dead are restarted", id);
    nodes_[id]->is_hung = false;
    start(id);
}

void World::hang(Id id) {
    nodes_[id]->is_hung = true;
}

void World::suspend(Id id) {
    deliver(id, nodes_[id]->life, event::LeaveRequested{});
    nodes_[id]->is_suspended = true;
}

void World::resume(Id id) {
    nodes_[id]->is_suspended = false;
    deliver(id, nodes_[id]->life, event::ReturnRequested{});
}

// --- time --------------------------------------------------------------------

void World::at(TimePoint when, std::function<void()> what) {
    queue_.push({.when = when, .order = next_order_++, .what = std::move(what)});
}

bool World::run_until(const std::function<bool()>& is_done, Duration limit) {
    const TimePoint end = now_ + limit;
    while (!is_done()) {
        if (queue_.empty() || queue_.top().when > end) return false;
        const Entry entry = queue_.top();
        queue_.pop();
        now_ = entry.when;
        entry.what();
    }
    return true;
}

void World::announce() {
    // The directory names everybody who was ever here, as a real one does for a while.
    std::vector<Endpoint> endpoints;
    for (const auto& node : nodes_) {
        if (node->is_reachable) endpoints.push_back(node->endpoint);
    }
    for (Id id = 0; id < nodes_.size(); ++id) {
        deliver(id, nodes_[id]->life, event::EndpointsFound{endpoints});
    }
    at(now_ + std::chrono::seconds{1}, [this] { announce(); });
}

void World::deliver(Id id, std::uint64_t life, const Event& event) {
    Node& node = *nodes_[id];
    if (!node.is_alive || node.is_hung || node.life != life) return;
    Actions actions;
    node.peer->handle(now_, event, actions);
    trace_ = Random{trace_ ^ id, static_cast<std::uint64_t>(now_.time_since_epoch().count())}
                 .split(event.index() * 1'000 + actions.size())
                 .next();
    if (const auto* reached = std::get_if<event::StateReached>(&event)) {
        const auto [it, is_new] = digest_at_.emplace(reached->step, reached->digest);
        DEDLOC_CHECK(is_new || it->second == reached->digest, "equal steps have equal digests",
                     seed_, id, reached->step.value());
    }
    for (const Action& action : actions) perform(id, action);
    node.peer->check_invariants();
    const TimePoint next =
        std::max(node.peer->next_deadline(), now_ + std::chrono::microseconds{1});
    if (next < node.tick_at || node.tick_at <= now_) {
        node.tick_at = next;
        if (next == kNever) return;
        at(next, [this, id, life] { deliver(id, life, event::Tick{}); });
    }
}

// --- actions -----------------------------------------------------------------

void World::perform(Id id, const Action& action) {
    Node& node = *nodes_[id];
    std::visit(
        Overloaded{
            [&](const action::Dial& a) { dial(id, a.remote); },
            [&](const action::Send& a) {
                DEDLOC_CHECK(!node.is_suspended, "a suspended peer sends nothing", seed_, id);
                ++node.frames_sent;
                send(a.link, a.frame);
            },
            [&](const action::Close& a) { close(a.link); },
            [&](const action::Work& a) { node.trainer->work(a.step); },
            [&](const action::Freeze& a) { node.trainer->freeze(a.step); },
            [&](const action::Apply& a) { node.trainer->apply(a.step, a.average, a.scalars); },
            [&](const action::TakeSnapshot&) { node.trainer->snapshot(); },
            [&](const action::Load& a) { node.trainer->load(a.step, a.digest, a.bytes); },
            [&](const action::Pause&) { node.trainer->pause(); },
            [&](const action::Committed& a) { record(id, a.record); },
            [&](const action::Settled& a) { settled_.push_back(a); },
            [&](const action::Finished&) { node.is_finished = true; },
            [&](const action::Note& a) { notes_.push_back(std::to_string(id) + ": " + a.line); },
            [](const auto&) {},
        },
        action);
}

void World::record(Id id, const CommitRecord& commit) {
    std::set<PeerKey> members;
    for (const CommitLine& line : commit.members) members.insert(line.peer);
    DEDLOC_CHECK(members.size() == commit.members.size(), "a member counts once", seed_, id);
    if (nodes_[id]->role == Role::kBackbone) {
        commits_.push_back(commit);
    } else {
        DEDLOC_CHECK(!commits_.empty(), "the coordinator commits first", seed_, id);
        const auto it = std::find_if(commits_.rbegin(), commits_.rend(),
                                     [&](const CommitRecord& c) { return c.step == commit.step; });
        DEDLOC_CHECK(it != commits_.rend() && *it == commit, "one commit a step", seed_, id);
    }
}

void World::dial(Id from, const Endpoint& remote) {
    const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const auto& node) { return node->endpoint == remote; });
    const auto life = nodes_[from]->life;
    const TimePoint arrival = now_ + 2 * profile_.latency;
    if (it == nodes_.end() || !(*it)->is_alive) {
        at(arrival, [=, this] { deliver(from, life, event::DialFailed{remote}); });
        return;
    }
    const Id to = static_cast<Id>(it - nodes_.begin());
    const auto to_life = (*it)->life;
    at(arrival, [=, this] {
        if (!nodes_[from]->is_alive || nodes_[from]->life != life || !nodes_[to]->is_alive) return;
        const LinkId here{next_link_++};
        const LinkId there{next_link_++};
        pipes_.emplace(here, Pipe{from, to, there, now_});
        pipes_.emplace(there, Pipe{to, from, here, now_});
        nodes_[from]->links.insert(here);
        nodes_[to]->links.insert(there);
        deliver(from, life, event::LinkOpened{here, remote, true});
        deliver(to, to_life,
                event::LinkOpened{there, {nodes_[from]->endpoint.host, 55'555}, false});
    });
}

void World::send(LinkId link, SharedBytes frame) {
    const auto it = pipes_.find(link);
    if (it == pipes_.end() || !it->second.is_open) return;
    Pipe& pipe = it->second;
    if (random_.uniform() < corruption_) {
        auto bad = std::make_shared<Buffer>(*frame);
        (*bad)[random_.below(bad->size())] ^= std::byte{1};
        frame = std::move(bad);
    }
    const auto transfer = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
        static_cast<double>(frame->size()) / profile_.bytes_per_second));
    const auto jitter = Duration{static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(profile_.jitter.count()) + 1))};
    pipe.last_arrival =
        std::max(pipe.last_arrival + transfer, now_ + profile_.latency + jitter + transfer);
    at(pipe.last_arrival, [this, to = pipe.to_node, at_link = pipe.to_link, frame] {
        const auto back = pipes_.find(at_link);
        if (back == pipes_.end() || !nodes_[to]->links.contains(at_link)) return;
        deliver(to, nodes_[to]->life, event::FrameReceived{at_link, frame});
    });
}

void World::close(LinkId link) {
    const auto it = pipes_.find(link);
    if (it == pipes_.end() || !it->second.is_open) return;
    it->second.is_open = false;
    const Pipe pipe = it->second;
    const auto close_end = [this](Id node, LinkId end) {
        if (nodes_[node]->links.erase(end) != 0) {
            deliver(node, nodes_[node]->life, event::LinkClosed{end});
        }
    };
    at(now_, [=] { close_end(pipe.from_node, link); });
    at(std::max(pipe.last_arrival, now_ + profile_.latency), [=, this] {
        pipes_.at(pipe.to_link).is_open = false;
        close_end(pipe.to_node, pipe.to_link);
    });
}

bool World::is_finished(Id id) const {
    return nodes_[id]->is_finished;
}
const state::ModelState& World::state(Id id) const {
    return nodes_[id]->trainer->state();
}
QuadraticTrainer& World::trainer(Id id) {
    return *nodes_[id]->trainer;
}
const PeerKey& World::key(Id id) const {
    return nodes_[id]->key.public_key();
}
std::uint64_t World::frames_sent(Id id) const {
    return nodes_[id]->frames_sent;
}

}  // namespace dedloc::sim
