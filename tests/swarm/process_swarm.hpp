// A swarm of real dedloc-peer processes on this machine. Their output is parsed: all members must
// print the same digest for a step. Every wait has a deadline.
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

/// Parameters of the swarm and of its run.
struct ProcessSwarmOptions {
    std::string program;            ///< path of dedloc-peer
    std::string hostile_program{};  ///< path of hostile_peer, for members that misbehave
    std::uint64_t bytes = 1'000'000;
    std::uint64_t steps = 100;
    std::uint64_t target_batch = 60;
    Codec codec = Codec::kFp32;
    bool has_tickets = false;  ///< links are proven and encrypted
};

/// What a member has printed so far.
struct Sighting {
    std::string peer;           ///< its key
    std::uint16_t port = 0;     ///< port that it listens on; 0: outbound-only
    std::uint64_t step = 0;     ///< step of its newest state
    std::uint64_t lives = 0;    ///< number of starts
    std::uint64_t rounds = 0;   ///< rounds with it since its last start
    std::optional<int> status;  ///< exit status after the last start
    std::string reason;         ///< `reason` of its end line
};

class ProcessSwarm final {
  public:
    using Seconds = std::chrono::duration<double>;

    explicit ProcessSwarm(ProcessSwarmOptions options);
    ~ProcessSwarm();
    ProcessSwarm(const ProcessSwarm&) = delete;
    ProcessSwarm& operator=(const ProcessSwarm&) = delete;

    /// Starts or restarts the DHT's seed, at the same address, and waits until it answers.
    void start_seed();
    void kill_seed() { seed_.reset(); }
    /// Starts a member, with the same key each time; `words` are added to its arguments. With
    /// --misbehave it is a hostile_peer.
    void start(const std::string& name, const std::vector<std::string>& words);
    /// Starts a killed member with the same arguments; a backbone listens on the same port.
    void restart(const std::string& name);
    /// Kills a member with SIGKILL.
    void kill(const std::string& name);
    void signal(const std::string& name, int number) { members_.at(name)->signal(number); }

    /// Reads the members' output until the condition holds. The test fails at the deadline, if two
    /// digests of one step differ, or if a member ends before the run.
    void await(const std::string& what, Seconds deadline, const std::function<bool()>& condition);
    /// Reads the members' output for this time.
    void watch(Seconds time);

    const Sighting& of(const std::string& name) const { return sightings_.at(name); }
    std::size_t peak_resident_bytes(const std::string& name) const {
        return members_.at(name)->peak_resident_bytes();
    }
    /// Number of lines in a member's log that contain these words.
    std::size_t log_lines(const std::string& name, const std::string& words) const;
    /// A key and a ticket of this name, created if there are none.
    net::SessionOptions session(const std::string& name);
    bool is_running(const std::string& name) const { return members_.contains(name); }
    std::vector<std::string> running() const;
    /// The highest step that any member has reached.
    std::uint64_t step() const { return digests_.empty() ? 0 : digests_.rbegin()->first; }
    /// The coordinator of the newest round; empty if it is not known or does not run now.
    std::string coordinator() const;
    /// Prints what every member has printed and fails the test with this sentence.
    [[noreturn]] void fail(const std::string& sentence);
    /// A member has reached the run's last step.
    bool is_over() const { return step() >= options_.steps; }
    /// Time between the first lines of the last two steps.
    Seconds last_step_time() const { return last_step_time_; }
    const std::filesystem::path& folder() const { return folder_.path(); }

  private:
    void read_all(Seconds limit);
    void take_line(const std::string& name, const std::string& line);
    void take_step(const std::string& name, std::uint64_t step, const std::string& digest);
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
    std::string seed_address_;
    std::map<std::string, std::string> addresses_;  ///< where backbones listen, by name
    std::unique_ptr<Child> seed_;
    std::map<std::string, std::unique_ptr<Child>> members_;
    std::map<std::string, std::vector<std::string>> words_;
    std::map<std::string, Sighting> sightings_;
    std::map<std::uint64_t, std::string> digests_;  ///< the first digest printed for each step
    std::string coordinator_;                       ///< its key
    std::chrono::steady_clock::time_point newest_at_{};
    Seconds last_step_time_{};
};

}  // namespace dedloc::test
