// What happened in a world: a hash over everything, and the last lines for whoever reads a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/events.hpp"

namespace dedloc::simulation {

/// Of the alternative of wire::Body with this index.
const char* name_of_body(std::size_t index);

class Trace {
  public:
    void event(TimePoint when, std::uint32_t node, const Event& event);
    void action(TimePoint when, std::uint32_t node, const Action& action);
    /// A fault, or anything else worth reading.
    void note(TimePoint when, std::uint32_t node, std::string line);

    /// Over time, node, kind and size of everything so far.
    std::uint64_t hash() const { return hash_; }
    /// From now on keeps everything for last_lines().
    void keep_all() { max_lines_ = max_printed_ = ~std::size_t{0}; }
    /// The last lines but for heartbeats, oldest first.
    std::vector<std::string> last_lines() const;
    /// The notes of all peers and faults, oldest first.
    const std::deque<std::string>& notes() const { return notes_; }

  private:
    static constexpr std::size_t kNotes = 400;
    struct Line {
        TimePoint when;
        std::uint32_t node;
        bool is_sent;  ///< of `frame`
        LinkId link;
        SharedBytes frame;  ///< described only when somebody reads
        std::string text;
    };
    void mix(TimePoint when, std::uint32_t node, std::uint64_t kind, std::uint64_t size);
    void keep(Line line);

    std::size_t max_lines_ = 1'000;  ///< with heartbeats, which are not printed
    std::size_t max_printed_ = 120;
    std::uint64_t hash_ = 0;
    std::deque<Line> lines_;
    std::deque<std::string> notes_;
};

}  // namespace dedloc::simulation
