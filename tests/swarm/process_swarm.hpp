// A swarm of real dedloc-peer processes on this machine, watched by what they print: every state's
// digest is compared with everybody else's, and what is waited for has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/net/session/handshake.hpp"
#include "peer/wire/types.hpp"
#include "tests/swarm/child.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::test {

struct ProcessSwarmOptions {
    std::string program;  ///< dedloc-peer
    std::uint64_t bytes = 1'000'000;
    std::uint64_t steps = 100;
    std::uint64_t target_batch = 60;
    Codec codec = Codec::kFp32;
    bool has_tickets = false;  ///< links are proven and encrypted
};

/// What a member has printed so far.
struct Sighting {
    std::string peer;           ///< key
    std::uint16_t port = 0;     ///< where it listens; 0: outbound-only
    std::uint64_t step = 0;     ///< of the newest state
    std::uint64_t lives = 0;    ///< how often it has been started
    std::uint64_t rounds = 0;   ///< that it has been in in this life
    std::optional<int> status;  ///< exit status of this life
    std::string reason;         ///< of its end line
};

class ProcessSwarm final {
  public:
    using Seconds = std::chrono::duration<double>;

    explicit ProcessSwarm(ProcessSwarmOptions options);
    ~ProcessSwarm();
    ProcessSwarm(const ProcessSwarm&) = delete;
    ProcessSwarm& operator=(const ProcessSwarm&) = delete;

    /// Starts the DHT's seed, or starts it again at its old address, and waits until it answers.
    void start_seed();
    void kill_seed() { seed_.reset(); }
    /// Starts a member, or starts it again with its key; `words` are added to its arguments.
    void start(const std::string& name, const std::vector<std::string>& words);
    /// As before it was killed; a backbone listens where it did.
    void restart(const std::string& name);
    /// kill -9.
    void kill(const std::string& name);
    void signal(const std::string& name, int number) { members_.at(name)->signal(number); }

    /// Reads what the members print until the condition holds. Fails the test at the deadline, at
    /// two digests of one step, and when a member ends before the run does.
    void await(const std::string& what, Seconds deadline, const std::function<bool()>& condition);
    /// Goes on reading for so long.
    void watch(Seconds time);

    const Sighting& of(const std::string& name) const { return sightings_.at(name); }
    std::size_t peak_resident_bytes(const std::string& name) const {
        return members_.at(name)->peak_resident_bytes();
    }
    /// Lines of what a member has logged that hold these words.
    std::size_t log_lines(const std::string& name, const std::string& words) const;
    /// Its key and a ticket of the project's, made if there are none.
    net::SessionOptions session(const std::string& name);
    bool is_running(const std::string& name) const { return members_.contains(name); }
    std::vector<std::string> running() const;
    /// The highest step that anybody has reached.
    std::uint64_t step() const { return digests_.empty() ? 0 : digests_.rbegin()->first; }
    /// Who coordinated the newest round; empty if it does not run any more, or none is known.
    std::string coordinator() const;
    /// Somebody has reached the run's last step.
    bool is_over() const { return step() >= options_.steps; }
    /// Seconds between the first lines of the newest two steps.
    Seconds last_step_time() const { return last_step_time_; }
    const std::filesystem::path& folder() const { return folder_.path(); }

  private:
    void read_all(Seconds limit);
    void take_line(const std::string& name, const std::string& line);
    void take_step(const std::string& name, std::uint64_t step, const std::string& digest);
    [[noreturn]] void fail(const std::string& sentence);
    std::string run_file() const { return (folder_.path() / "run.json").string(); }
    std::string ticket_file(const std::string& name) const {
        return (folder_.path() / (name + ".ticket")).string();
    }
    void make_ticket(const std::string& name);
    std::string key_file(const std::string& name) const {
        return (folder_.path() / (name + ".key")).string();
    }

    const ProcessSwarmOptions options_;
    TemporaryDirectory folder_;
    std::string seed_address_ = "127.0.0.1:0";
    std::unique_ptr<Child> seed_;
    std::map<std::string, std::unique_ptr<Child>> members_;
    std::map<std::string, std::vector<std::string>> words_;
    std::map<std::string, Sighting> sightings_;
    std::map<std::uint64_t, std::string> digests_;  ///< of each step, from whoever was first
    std::string coordinator_;                       ///< key
    std::chrono::steady_clock::time_point newest_at_{};
    Seconds last_step_time_{};
};

}  // namespace dedloc::test
