// Strong units, so that a step is never taken for a sample count, and the clock of the protocol,
// which is always passed in and never read.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "peer/base/check.hpp"

namespace dedloc {

/// An integer that combines only with its own kind. Conversion is explicit in both directions: the
/// constructor and value().
template <class Tag, class Rep = std::uint64_t>
class Strong {
  public:
    using rep = Rep;  ///< the underlying integer
    constexpr Strong() = default;
    constexpr explicit Strong(Rep value) : value_(value) {}
    /// The plain integer.
    constexpr Rep value() const { return value_; }
    constexpr auto operator<=>(const Strong&) const = default;

    constexpr Strong& operator+=(Strong other) { return value_ += other.value_, *this; }
    /// Requires other ≤ *this if Rep is unsigned (DEDLOC_CHECK): no step precedes the first one.
    constexpr Strong& operator-=(Strong other) {
        if constexpr (std::is_unsigned_v<Rep>) {
            DEDLOC_CHECK(other.value_ <= value_, "a difference is not negative", value_,
                         other.value_);
        }
        return value_ -= other.value_, *this;
    }
    constexpr friend Strong operator+(Strong a, Strong b) { return a += b; }
    constexpr friend Strong operator-(Strong a, Strong b) { return a -= b; }
    /// This value + 1.
    constexpr Strong next() const { return Strong{static_cast<Rep>(value_ + 1)}; }

  private:
    Rep value_{};
};

using Bytes = Strong<struct BytesTag>;      ///< a number of bytes
using Samples = Strong<struct SamplesTag>;  ///< a number of training samples
using StepIndex = Strong<struct StepTag>;   ///< number of updates that a state has seen
using PeerIndex = Strong<struct PeerIndexTag, std::uint32_t>;  ///< position in a plan's member list
using LinkId = Strong<struct LinkTag>;  ///< one connection of a transport, never used again
/// A transfer speed in bytes per second. In a std::optional, nullopt means that it is unknown; a
/// known one is above 0.
using Bandwidth = Strong<struct BandwidthTag>;
/// The bandwidth that the wire, a file or an option gives as a number, where 0 means unknown.
constexpr std::optional<Bandwidth> known_bandwidth(std::uint64_t bytes_per_second) {
    if (bytes_per_second == 0) return std::nullopt;
    return Bandwidth{bytes_per_second};
}

/// A time span of the protocol.
using Duration = std::chrono::nanoseconds;
/// A time span in seconds, with its fraction.
template <class Rep, class Period>
constexpr double seconds_of(std::chrono::duration<Rep, Period> time) {
    return std::chrono::duration<double>(time).count();
}

/// The clock of the protocol core. It cannot be read: the driver passes the time with every event.
/// It never goes backwards.
struct ProtocolClock {
    // What std::chrono requires of a clock, without now().
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ProtocolClock>;
    static constexpr bool is_steady = true;
};
/// A moment of the protocol's clock.
using TimePoint = ProtocolClock::time_point;
/// As a deadline: there is none.
inline constexpr TimePoint kNever = TimePoint::max();

}  // namespace dedloc

template <class Tag, class Rep>
struct std::hash<dedloc::Strong<Tag, Rep>> {
    std::size_t operator()(dedloc::Strong<Tag, Rep> x) const { return std::hash<Rep>{}(x.value()); }
};
