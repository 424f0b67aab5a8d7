// Strong units: a step is not a sample count, and time is passed in, never read.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "peer/base/check.hpp"

namespace dedloc {

/// An integer that only mixes with its own kind. Explicit to make, `.value()` to leave.
template <class Tag, class Rep = std::uint64_t>
class Strong {
  public:
    using rep = Rep;
    constexpr Strong() = default;
    constexpr explicit Strong(Rep value) : value_(value) {}
    constexpr Rep value() const { return value_; }
    constexpr auto operator<=>(const Strong&) const = default;

    constexpr Strong& operator+=(Strong other) { return value_ += other.value_, *this; }
    /// Requires other ≤ *this where Rep has no sign: there is no step before the first.
    constexpr Strong& operator-=(Strong other) {
        if constexpr (std::is_unsigned_v<Rep>) {
            DEDLOC_CHECK(other.value_ <= value_, "a difference under zero", value_, other.value_);
        }
        return value_ -= other.value_, *this;
    }
    constexpr friend Strong operator+(Strong a, Strong b) { return a += b; }
    constexpr friend Strong operator-(Strong a, Strong b) { return a -= b; }
    constexpr Strong next() const { return Strong{static_cast<Rep>(value_ + 1)}; }

  private:
    Rep value_{};
};

using Bytes = Strong<struct BytesTag>;
using Samples = Strong<struct SamplesTag>;
using StepIndex = Strong<struct StepTag>;
using PeerIndex = Strong<struct PeerIndexTag, std::uint32_t>;  ///< position in a plan's member list
using LinkId = Strong<struct LinkTag>;

using Duration = std::chrono::nanoseconds;

/// The one clock of the protocol core: whoever drives it says what time it is. Never goes
/// backwards.
struct ProtocolClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ProtocolClock>;
    static constexpr bool is_steady = true;
};
using TimePoint = ProtocolClock::time_point;
inline constexpr TimePoint kNever = TimePoint::max();

/// Bytes per second. Bandwidth × duration = Bytes is the only operator across units.
struct Bandwidth {
    double bytes_per_second = 0;
    auto operator<=>(const Bandwidth&) const = default;
    /// Rounded down; nothing for a negative or undefined product, the most there is beyond 2⁶⁴.
    friend Bytes operator*(Bandwidth bandwidth, Duration time) {
        const double bytes =
            bandwidth.bytes_per_second * std::chrono::duration<double>(time).count();
        if (!(bytes > 0)) return Bytes{0};
        if (bytes >= 0x1p64) return Bytes{std::numeric_limits<std::uint64_t>::max()};
        return Bytes{static_cast<std::uint64_t>(bytes)};
    }
};

}  // namespace dedloc

template <class Tag, class Rep>
struct std::hash<dedloc::Strong<Tag, Rep>> {
    std::size_t operator()(dedloc::Strong<Tag, Rep> x) const { return std::hash<Rep>{}(x.value()); }
};
