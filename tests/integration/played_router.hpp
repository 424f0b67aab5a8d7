// A volunteer's house and its router, which the test plays: two network namespaces, so that no
// network of the machine is touched.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dedloc::test {

inline const std::string kRouterAddress = "192.168.77.1";  ///< seen from the house and the street
inline const std::string kHouseAddress = "192.168.77.2";

/// The calling thread has moved into the house for good, as have the threads that it starts; the
/// only way out is the router.
class House {
  public:
    /// Nothing where the system does not let us; `why` says so.
    static std::unique_ptr<House> enter(std::string& why);
    ~House();
    House(const House&) = delete;
    House& operator=(const House&) = delete;

    /// Does this in the street; threads that it starts stay there.
    void in_street(const std::function<void()>& work) const;

  private:
    explicit House(int street) : street_(street) {}
    const int street_;  ///< descriptor of its namespace
};

/// The router's half of NAT-PMP (RFC 6886). To be made in the street.
class PlayedRouter {
  public:
    enum class Manner {
        kGivesAnotherPort,  ///< than it was asked for
        kRefuses,
    };
    explicit PlayedRouter(Manner manner);
    ~PlayedRouter();
    PlayedRouter(const PlayedRouter&) = delete;
    PlayedRouter& operator=(const PlayedRouter&) = delete;

    /// The house's TCP port that others reach at this port of the router's.
    std::optional<std::uint16_t> port_behind(std::uint16_t port) const;
    /// Whether anybody has asked for anything.
    bool was_asked() const { return was_asked_; }

  private:
    void serve();
    std::string answer(const std::string& question);

    const Manner manner_;
    const int descriptor_;
    std::atomic<bool> is_stopping_ = false;
    std::atomic<bool> was_asked_ = false;
    mutable std::mutex mutex_;
    std::map<std::uint16_t, std::uint16_t> passed_on_;  ///< TCP, the router's port → the house's
    std::thread thread_;
};

}  // namespace dedloc::test
