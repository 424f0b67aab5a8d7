// A volunteer's home network ("house") behind a simulated router, and the network outside
// ("street"): two network namespaces, so that the machine's own network is not used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dedloc::test {

inline const std::string kRouterAddress = "192.168.77.1";  ///< in both networks
inline const std::string kHouseAddress = "192.168.77.2";

/// Moves the calling thread, and the threads that it starts, into the house for good; the only way
/// out is through the router.
class House {
  public:
    /// Nothing if the system does not allow it; `why` has the reason.
    static std::unique_ptr<House> enter(std::string& why);
    ~House();
    House(const House&) = delete;
    House& operator=(const House&) = delete;

    /// The house's address becomes this one. Call it in the house.
    void move_to(const std::string& address) const;
    /// Runs a function in the street; threads that it starts stay there.
    void in_street(const std::function<void()>& work) const;

  private:
    explicit House(int street) : street_(street) {}
    const int street_;  ///< descriptor of the street's namespace
};

/// The router's side of NAT-PMP (RFC 6886). Construct it in the street.
class PlayedRouter {
  public:
    enum class Manner {
        kGivesAnotherPort,  ///< maps another port than the requested one
        kRefuses,
    };
    explicit PlayedRouter(Manner manner);
    ~PlayedRouter();
    PlayedRouter(const PlayedRouter&) = delete;
    PlayedRouter& operator=(const PlayedRouter&) = delete;

    /// The house's TCP port to which the router forwards this external port.
    std::optional<std::uint16_t> port_behind(std::uint16_t port) const;
    /// Forgets all ports, as when it is switched off and on, and gives others from now on.
    void restart();
    /// Answers in this manner from now on.
    void behave(Manner manner) { manner_ = manner; }
    /// Requests for a TCP port so far.
    std::size_t mappings() const { return mappings_; }
    /// Whether a request has arrived.
    bool was_asked() const { return was_asked_; }

  private:
    void serve();
    std::string answer(const std::string& question);

    std::atomic<Manner> manner_;
    const int descriptor_;
    std::atomic<bool> is_stopping_ = false;
    std::atomic<bool> was_asked_ = false;
    std::atomic<std::size_t> mappings_ = 0;
    std::atomic<unsigned> restarts_ = 0;
    mutable std::mutex mutex_;
    std::map<std::uint16_t, std::uint16_t> passed_on_;  ///< TCP: external port → internal port
    std::thread thread_;
};

}  // namespace dedloc::test
